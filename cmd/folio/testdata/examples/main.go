// Command demo is what the examples of folio's documents build.
package main

import (
	"flag"
	"fmt"
)

func main() {
	port := flag.String("port", "80", "")
	flag.Parse()
	fmt.Println("port", *port)
}
