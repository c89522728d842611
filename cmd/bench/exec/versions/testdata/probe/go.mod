module probe

go 1.18
