"""Which variant of the extension modules this CPU runs; see runtime/interface/cpu_variants.py."""

x86_64_v3: int
