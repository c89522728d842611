// Command backtest judges folio-fleet's recommendations by workloads whose future is
// known, and prints the table of docs/fleet-recommend.md:
//
//	go run ./bench/backtest
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/foliomem/folio/fleet/internal/backtest"
	"github.com/foliomem/folio/fleet/internal/synthetic"
)

func main() {
	o := backtest.Default()
	flag.IntVar(&o.Learn, "learn", o.Learn, "recommend from so many `days`")
	flag.IntVar(&o.Replay, "replay", o.Replay, "replay so many `days` after")
	known := flag.Bool("known", false, "the seeds that recommendations were made with, instead of those held out")
	flag.Parse()
	if err := run(o, *known); err != nil {
		fmt.Fprintln(os.Stderr, "backtest:", err)
		os.Exit(1)
	}
}

func run(o backtest.Options, known bool) error {
	seeds := synthetic.HeldOut
	if known {
		seeds = synthetic.Known
	}
	var all backtest.Sum
	if err := backtest.Header(os.Stdout); err != nil {
		return err
	}
	for _, kind := range synthetic.Kinds {
		var sum backtest.Sum
		for _, seed := range seeds {
			r, err := backtest.Run(kind, seed, o)
			if err != nil {
				return err
			}
			sum.Add(r, o)
			all.Add(r, o)
			if r.Harmed() {
				fmt.Fprintf(os.Stderr, "%s %d: %d over the limit, %d without the recommendation\n", kind, seed, r.After.Kills, r.Before.Kills)
			}
		}
		if err := sum.Row(os.Stdout, kind); err != nil {
			return err
		}
	}
	return all.Row(os.Stdout, "all")
}
