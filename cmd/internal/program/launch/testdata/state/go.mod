module state

go 1.21
