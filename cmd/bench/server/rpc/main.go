// Command rpc is a gRPC service, as many are: it keeps 60,000 profiles of users and 60,000
// items, some 150 MB of messages, and ranks the candidates of a request by them.
//
//	feed.Feed/Rank	reads 40 candidates, and answers with the 20 best, as items; the
//		profile of the user is replaced by one that has seen them
//
// The code in package feed is made by
//
//	protoc --go_out=. --go_opt=paths=source_relative \
//		--go-grpc_out=. --go-grpc_opt=paths=source_relative feed/feed.proto
package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"sync/atomic"

	_ "github.com/KimMachineGun/automemlimit" // by AUTOMEMLIMIT
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	_ "github.com/foliomem/folio/auto" // by FOLIO
	"github.com/foliomem/folio/cmd/bench/server/rpc/feed"
	"github.com/foliomem/folio/internal/test/service"
)

func main() {
	service.Service{Name: "rpc", Body: body, Build: build}.Main()
}

const (
	users, items = 60_000, 60_000
	candidates   = 40
	categories   = 200
	interests    = 8
	remembered   = 64 // items that a profile has seen
)

func category(n uint64) string { return fmt.Sprintf("category-%03d", n%categories) }

func newProfile(id uint64) *feed.Profile {
	p := &feed.Profile{User: fmt.Sprintf("user-%d", id)}
	for i := range uint64(interests) {
		p.Interests = append(p.Interests, &feed.Interest{Category: category(service.Mix(id + i)), Weight: 1 / float64(1+i)})
	}
	for i := range uint64(remembered) {
		p.Seen = append(p.Seen, service.Mix(id^i)%items)
	}
	return p
}

func newItem(id uint64) *feed.Item {
	return &feed.Item{Id: id, Title: fmt.Sprintf("Item %d, in several colors and sizes", id),
		Url:        fmt.Sprintf("https://shop.example.com/items/%d?ref=feed", id),
		Price:      &feed.Price{Currency: "EUR", Units: int64(id % 500), Nanos: 990_000_000},
		Categories: []string{category(id), category(id / categories)},
		Attributes: map[string]string{"color": fmt.Sprint("color-", id%30), "size": fmt.Sprint(id % 12), "brand": fmt.Sprintf("brand-%d", id%900)}}
}

// body is the message of every request.
func body() ([]byte, error) {
	r := &feed.RankRequest{Session: "0e4f6c1a-6d2b-4a3e-9d83-2f6f0f9d7b11", Locale: "en-IE", Most: 20,
		Context: map[string]string{"page": "home", "device": "phone", "experiment": "ranking-7"}}
	for i := range uint64(candidates) {
		c := &feed.Candidate{Item: service.Mix(i) % items, Source: "nearest"}
		for j := range 16 {
			c.Features = append(c.Features, float32(service.Mix(i<<8+uint64(j))%1000)/1000)
		}
		r.Candidates = append(r.Candidates, c)
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(r)
}

type server struct {
	feed.UnimplementedFeedServer
	profiles [users]atomic.Pointer[feed.Profile]
	items    [items]*feed.Item
	keys     service.Keys
}

func build() (func(net.Listener) error, error) {
	s := &server{}
	for id := range uint64(users) {
		s.profiles[id].Store(newProfile(id))
	}
	for id := range uint64(items) {
		s.items[id] = newItem(id)
	}
	g := grpc.NewServer()
	feed.RegisterFeedServer(g, s)
	return g.Serve, nil
}

func (s *server) Rank(_ context.Context, r *feed.RankRequest) (*feed.RankResponse, error) {
	key := s.keys.Next()
	at := &s.profiles[key%users]
	p := at.Load()
	out := &feed.RankResponse{User: p.User}
	for _, c := range r.Candidates {
		// Those of a request are moved on, so that requests are about all items.
		out.Items = append(out.Items, s.rank(p, s.items[(c.Item+key)%items], c))
	}
	slices.SortFunc(out.Items, func(a, b *feed.Ranked) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Item.Id, b.Item.Id))
	})
	out.Items = out.Items[:min(max(int(r.Most), 0), len(out.Items))]
	next := &feed.Profile{User: p.User, Interests: p.Interests}
	next.Seen = append(next.Seen, p.Seen[min(len(out.Items), len(p.Seen)):]...)
	for _, i := range out.Items {
		next.Seen = append(next.Seen, i.Item.Id)
	}
	at.Store(next)
	return out, nil
}

func (s *server) rank(p *feed.Profile, i *feed.Item, c *feed.Candidate) *feed.Ranked {
	out := &feed.Ranked{Item: i, Reason: "popular"}
	for n, f := range c.Features {
		out.Score += float64(f) / float64(n+1)
	}
	for _, in := range p.Interests {
		if slices.Contains(i.Categories, in.Category) {
			out.Score += in.Weight
			out.Reason = "because of your interest in " + in.Category
		}
	}
	if slices.Contains(p.Seen, i.Id) {
		out.Score /= 2
	}
	return out
}
