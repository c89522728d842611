package service

import (
	"net"
	"net/http"
	"testing"
)

func TestKeys(t *testing.T) {
	var a, b Keys
	seen := make(map[uint64]bool)
	for range 10_000 {
		n := a.Next()
		if n != b.Next() {
			t.Fatal("two sequences differ")
		}
		seen[n%1000] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d of 1000 remainders in 10,000 numbers", len(seen))
	}
	// As the reference implementation of splitmix64 has it, for seed 0.
	if got := Mix(1); got != 0xe220a8397b1dcdaf {
		t.Errorf("%#x", got)
	}
}

func TestHealth(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- HTTP(http.NewServeMux())(l) }()
	resp, err := http.Get("http://" + l.Addr().String() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Error(resp.Status)
	}
	l.Close()
	<-ended
}
