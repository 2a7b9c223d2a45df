"""Which variant of the extension modules this CPU runs; see runtime/variants.py."""

x86_64_v3: int
