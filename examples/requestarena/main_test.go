package main

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

func post(text string) (int, string) {
	w := httptest.NewRecorder()
	handler().ServeHTTP(w, httptest.NewRequest("POST", "/eval", strings.NewReader(text)))
	return w.Code, strings.TrimSpace(w.Body.String())
}

func TestEval(t *testing.T) {
	for text, want := range map[string]string{
		"1 + 2 * max(3, 4)":                "200 9",
		"(1+2)*3-4/8":                      "200 8.5",
		"sum(1, 2, min(3, 4), 5)":          "200 11",
		"\t7\n":                            "200 7",
		"1 +":                              "400 the expression ends too early",
		"1 2":                              `400 position 2: unexpected '2'`,
		"(1":                               `400 position 2: want ')'`,
		"1..2":                             `400 position 0: "1..2" is not a number`,
		"max()":                            "400 max of nothing",
		"f(1)":                             `400 unknown function "f"`,
		"max":                              `400 position 3: want '('`,
		"":                                 "400 the expression ends too early",
		"&":                                `400 position 0: unexpected '&'`,
		strings.Repeat("(", 1000):          "400 position 200: nested deeper than 200",
		strings.Repeat("1+", 1000) + "1":   "200 1001",
		strings.Repeat(" ", maxBody) + "1": "413 http: request body too large",
	} {
		if code, body := post(text); fmt.Sprint(code, " ", body) != want {
			t.Errorf("%.40q: %d %s, want %s", text, code, body, want)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 100 {
				n := g*100 + i
				text := fmt.Sprintf("sum(%s0)", strings.Repeat("1, ", n))
				if code, body := post(text); code != 200 || body != fmt.Sprint(n) {
					t.Errorf("the sum of %d ones: %d %s", n, code, body)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzEvaluate(f *testing.F) {
	f.Add("1 + 2 * max(3, 4)")
	f.Add("sum(1, (2/3), .5)")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := evaluate(text)
		again, errAgain := evaluate(text)
		if fmt.Sprint(v, err) != fmt.Sprint(again, errAgain) {
			t.Errorf("%q: %v, %v and then %v, %v", text, v, err, again, errAgain)
		}
		if len(text) < 1000 && err == nil {
			if sum, err := evaluate("(" + text + ")"); err == nil && fmt.Sprint(sum) != fmt.Sprint(v) {
				t.Errorf("%q: %v, in parentheses %v", text, v, sum)
			}
		}
	})
}
