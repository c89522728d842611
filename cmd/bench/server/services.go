package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/foliomem/folio/internal/base/unit"
)

const mib = 1 << 20

// A service is a program in a directory here.
type service struct {
	name  string
	limit uint64   // of memory
	paths []string // requested in turn
	grpc  string   // the method to call, of a service of gRPC
	rate  float64  // requests per second; 0 where it is to be found
}

// services are those that are measured. How often a path is requested is how often it is
// in the list.
var services = []service{
	{name: "api", limit: 512 * mib, paths: []string{"search", "search", "search", "orders"}},
	{name: "cache", limit: 1024 * mib, paths: []string{"get", "get", "get", "get", "set"}},
	{name: "series", limit: 1024 * mib, paths: []string{"append", "query"}},
	{name: "rpc", limit: 512 * mib, grpc: "feed.Feed/Rank"},
}

// ready is where a service at addr says that it is.
func (s *service) ready(addr string) string {
	if s.grpc != "" {
		return "tcp:" + addr
	}
	return "http://" + addr + "/healthz"
}

// urls are those that are requested, in turn.
func (s *service) urls(addr string) (out []string) {
	if s.grpc != "" {
		return []string{"http://" + addr}
	}
	for _, p := range s.paths {
		out = append(out, "http://"+addr+"/"+p)
	}
	return out
}

// choose returns the services with these names, separated by commas; all for "".
func choose(only string) ([]service, error) {
	if only == "" {
		return services, nil
	}
	var out []service
	for name := range strings.SplitSeq(only, ",") {
		i := find(services, name)
		if i < 0 {
			return nil, fmt.Errorf("-only %q: no such service: want some of %s", name, names())
		}
		if find(out, name) < 0 {
			out = append(out, services[i])
		}
	}
	return out, nil
}

func find(list []service, name string) int {
	return slices.IndexFunc(list, func(s service) bool { return s.name == name })
}

func names() string {
	var out []string
	for _, s := range services {
		out = append(out, s.name)
	}
	return strings.Join(out, ", ")
}

// perService reads "api=900,cache=1200" into a field of the services of list.
func perService[T any](list []service, flag, text, want string, parse func(string) (T, error), field func(*service) *T) error {
	if text == "" {
		return nil
	}
	for item := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(item, "=")
		v, err := parse(value)
		if find(services, name) < 0 || err != nil {
			return fmt.Errorf("%s %q: want a service and %s; services are %s", flag, item, want, names())
		}
		if i := find(list, name); i >= 0 {
			*field(&list[i]) = v
		}
	}
	return nil
}

// rates reads the requests per second of services.
func rates(list []service, text string) error {
	return perService(list, "-rate", text, "requests per second, such as api=900", func(value string) (float64, error) {
		v, err := strconv.ParseFloat(value, 64)
		if !(v > 0) { // NaN too
			err = strconv.ErrRange
		}
		return v, err
	}, func(s *service) *float64 { return &s.rate })
}

// limits reads the memory limits of services.
func limits(list []service, text string) error {
	return perService(list, "-limit", text, "a size, such as api=1GiB", unit.ParseSize, func(s *service) *uint64 { return &s.limit })
}
