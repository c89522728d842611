package testenv

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
)

// ports counts those that this process asked for, from a random one.
var ports atomic.Uint32

func init() { ports.Store(rand.Uint32N(12000)) }

// FreePort returns a port that nothing uses, each time another, from below the range that
// the kernel gives to outgoing connections: none of those can take it meanwhile.
func FreePort() (string, error) {
	for range 100 {
		port := strconv.Itoa(20000 + int(ports.Add(1)%12000))
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			continue
		}
		return port, l.Close()
	}
	return "", errors.New("no port is free")
}
