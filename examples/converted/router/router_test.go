package router

import (
	"fmt"
	"slices"
	"testing"
)

func TestTree(t *testing.T) {
	got := ""
	to := func(name string) Handle { return func(p Params) { got = fmt.Sprint(name, p) } }
	routes := []Route{
		{"/", to("root")}, {"/users", to("users")}, {"/users/:id", to("user")}, {"/users/:id/posts", to("posts")},
		{"/static/*path", to("static")}, {"/us", to("us")},
	}
	tree := New()
	defer tree.Close()
	for round := range 3 {
		for path, want := range map[string]string{
			"/": "root[]", "/us": "us[]", "/users": "users[]", "/users/7": "user[{id 7}]",
			"/users/7/posts": "posts[{id 7}]", "/static/a/b": "static[{path /a/b}]", "/nosuch": "",
		} {
			if round == 0 {
				break
			}
			got = ""
			if h, p, _ := tree.Lookup(path); h != nil {
				h(p)
			}
			if got != want {
				t.Errorf("%s: %q, want %q", path, got, want)
			}
		}
		tree.Replace(routes)
	}
	if err := Check(routes); err != nil {
		t.Error(err)
	}
	if Check(append(routes, Route{"/users/:name", nil})) == nil {
		t.Error("two names of a wildcard")
	}
	if p := Paths(routes); !slices.Equal(p, []string{"us", "static"}) {
		t.Errorf("%q", p)
	}
}
