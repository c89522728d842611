// Command api is a JSON API as many are: it keeps 280,000 orders, some 200 MB, in a map,
// and decodes and encodes with encoding/json.
//
//	POST /search	reads an order, and answers with ten
//	POST /orders	reads an order, stores it in place of another, and answers with that
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	_ "github.com/KimMachineGun/automemlimit" // by AUTOMEMLIMIT

	_ "github.com/foliomem/folio/auto" // by FOLIO
	"github.com/foliomem/folio/internal/test/service"
)

func main() {
	service.Service{Name: "api", Body: body, Build: build}.Main()
}

const (
	orders = 280_000
	found  = 10 // by a search
	most   = 1 << 20
)

type order struct {
	ID       int               `json:"id"`
	Customer customer          `json:"customer"`
	Created  time.Time         `json:"created"`
	Items    []item            `json:"items"`
	Tags     map[string]string `json:"tags"`
}

type customer struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

type item struct {
	SKU   string  `json:"sku"`
	Count int     `json:"count"`
	Price float64 `json:"price"`
}

func newOrder(id int) *order {
	o := &order{ID: id, Customer: customer{fmt.Sprintf("Customer %d", id), fmt.Sprintf("customer-%d@example.com", id)},
		Created: time.Unix(1_700_000_000+int64(id), 0).UTC(),
		Tags:    map[string]string{"region": fmt.Sprint("eu-", id%5), "channel": fmt.Sprint(id % 7)}}
	for i := range 4 {
		o.Items = append(o.Items, item{SKU: fmt.Sprintf("sku-%d-%d", id, i), Count: i + 1, Price: float64(i)*1.5 + 0.99})
	}
	return o
}

func body() ([]byte, error) { return json.Marshal(newOrder(orders)) }

type api struct {
	mu   sync.RWMutex
	m    map[int]*order
	keys service.Keys
}

func build() (func(net.Listener) error, error) {
	a := &api{m: make(map[int]*order)}
	for id := range orders {
		a.m[id] = newOrder(id)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /search", a.search)
	mux.HandleFunc("POST /orders", a.store)
	return service.HTTP(mux), nil
}

// read reads the order of a request.
func read(w http.ResponseWriter, r *http.Request) (*order, bool) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	o := &order{}
	if err == nil {
		err = json.Unmarshal(data, o)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return o, err == nil
}

func write(w http.ResponseWriter, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // a client that is gone needs no answer
}

func (a *api) search(w http.ResponseWriter, r *http.Request) {
	if _, ok := read(w, r); !ok {
		return
	}
	first := a.keys.Next()
	out := make([]*order, 0, found)
	a.mu.RLock()
	for i := range uint64(found) {
		out = append(out, a.m[int((first+i)%orders)])
	}
	a.mu.RUnlock()
	write(w, out)
}

func (a *api) store(w http.ResponseWriter, r *http.Request) {
	o, ok := read(w, r)
	if !ok {
		return
	}
	o.ID = int(a.keys.Next() % orders)
	a.mu.Lock()
	old := a.m[o.ID]
	a.m[o.ID] = o
	a.mu.Unlock()
	write(w, old)
}
