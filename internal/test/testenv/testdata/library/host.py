# What host.txt is in C.
import ctypes, sys

calls = []
for path in sys.argv[1:]:
    call = ctypes.CDLL(path).Do
    call.restype, call.argtypes = ctypes.c_char_p, [ctypes.c_char_p]
    calls.append(call)
print("ready", flush=True)
for line in sys.stdin:
    i, rest = line.rstrip("\n").split(" ", 1)
    print(calls[int(i)](rest.encode()).decode(), flush=True)
