from .arguments import nearest as nearest
from .checksum import check_seal as check_seal, open_library as open_library
from .table_values import with_values as with_values
