package main

import (
	"fmt"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
)

var prices = newCatalogue(products)

func post(with string, body []byte) (int, string) {
	w := httptest.NewRecorder()
	handler(prices, memories[with]).ServeHTTP(w, httptest.NewRequest("POST", "/price", strings.NewReader(string(body))))
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestPrice(t *testing.T) {
	unknown := &order{items: []*item{{product: "nothing"}}}
	whole := example(5).encode()
	for with := range memories {
		for name, c := range map[string]struct {
			body []byte
			want string
		}{
			"nothing":         {nil, "200 order 0 of : 0 items, 0.00"},
			"five items":      {whole, "200 order 7 of A. Customer: 5 items, 47.78"},
			"unknown product": {unknown.encode(), `400 there is no "nothing"`},
			"cut":             {whole[:len(whole)-1], "400 the message ends too early"},
			"a fixed64":       {[]byte{9<<3 | 1, 1, 2, 3}, "400 a field is of type 1, which no order has"},
			"unknown field":   {append(appendNumber(nil, 9, 1), whole...), "200 order 7 of A. Customer: 5 items, 47.78"},
			"too large":       {make([]byte, maxBody+1), "413 http: request body too large"},
		} {
			if code, body := post(with, c.body); fmt.Sprint(code, " ", body) != c.want {
				t.Errorf("%s, %s: %d %s, want %s", with, name, code, body, c.want)
			}
		}
	}
}

func TestExample(t *testing.T) {
	for target, want := range map[string]int{"/example?items=2": 200, "/example?items=10001": 400, "/example": 400} {
		w := httptest.NewRecorder()
		handler(prices, memories["new"]).ServeHTTP(w, httptest.NewRequest("GET", target, nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", target, w.Code, want)
		}
	}
}

func TestDecodeIsTheInverseOfEncode(t *testing.T) {
	for with, memory := range memories {
		for _, n := range []int{0, 1, 100, 0, 30} { // one after the other reuses what the last one left
			m := memory()
			o, err := decode(m, example(n).encode())
			if want := example(n); err != nil || fmt.Sprint(o.id, o.customer, len(o.items)) != fmt.Sprint(want.id, want.customer, len(want.items)) {
				t.Errorf("%s, %d items: %+v, %v", with, n, o, err)
			} else {
				for i := range o.items {
					if !reflect.DeepEqual(o.items[i], want.items[i]) {
						t.Errorf("%s, item %d of %d: %+v", with, i, n, o.items[i])
					}
				}
			}
			m.done(o)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	for with := range memories {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for n := range 30 {
					_, want := post("new", example(n).encode())
					if code, body := post(with, example(n).encode()); code != 200 || body != want {
						t.Errorf("%s: %d %s, want %s", with, code, body, want)
					}
				}
			})
		}
		wg.Wait()
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(example(2).encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		var first string
		for with, memory := range memories {
			m := memory()
			o, err := decode(m, b)
			cents, errPrice := prices.price(o)
			got := fmt.Sprint(o.id, o.customer, len(o.items), err, cents, errPrice)
			m.done(o)
			if first == "" {
				first = got
			}
			if got != first {
				t.Errorf("%s: %s, want %s", with, got, first)
			}
		}
	})
}
