// Command own allocates, and writes what its own runtime says of that to the file that
// TRUTH names: cmd/bench/truth compares it with what folio run says of the same run.
//
//	own trees n    short-lived binary trees beside one that stays
//	own json n     a document, encoded and decoded
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"github.com/foliomem/folio/cmd/bench/truth/own/say"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: own trees|json n")
		os.Exit(2)
	}
	n, err := strconv.Atoi(os.Args[2])
	if err == nil {
		err = say.Begin()
	}
	if err == nil {
		switch os.Args[1] {
		case "trees":
			trees(n)
		case "json":
			err = documents(n)
		}
	}
	if err == nil {
		err = say.Truth()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "own:", err)
		os.Exit(1)
	}
}

type node struct{ left, right *node }

func tree(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{tree(depth - 1), tree(depth - 1)}
}

func (n *node) size() int {
	if n.left == nil {
		return 1
	}
	return 1 + n.left.size() + n.right.size()
}

func trees(n int) {
	stays, sum := tree(20), 0
	for range n {
		sum += tree(14).size()
	}
	fmt.Println(sum, stays.size())
}

type document struct {
	Name string            `json:"name"`
	Tags []string          `json:"tags"`
	Of   map[string]string `json:"of"`
}

func documents(n int) error {
	d := document{Name: "a document", Of: map[string]string{}}
	for i := range 50 {
		d.Tags = append(d.Tags, "tag "+strconv.Itoa(i))
		d.Of[strconv.Itoa(i)] = "what it is of"
	}
	for range n {
		data, err := json.Marshal(&d)
		if err != nil {
			return err
		}
		var back document
		if err := json.Unmarshal(data, &back); err != nil {
			return err
		}
	}
	return nil
}
