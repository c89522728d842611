// Command backtest judges folio-fleet's recommendations by workloads whose future is
// known, and prints the table of docs/fleet-recommend.md:
//
//	go run ./bench/backtest
//
// A workload of package synthetic is recorded for some days, as the rules would record it;
// package recommend makes a recommendation of that; package replay plays the days after with
// and without it, and with what an oracle would have set, who knows them.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/foliomem/folio/cmd/fleet/bench/backtest/synthetic"
)

func main() {
	o := defaults()
	flag.IntVar(&o.Learn, "learn", o.Learn, "recommend from so many `days`")
	flag.IntVar(&o.Replay, "replay", o.Replay, "replay so many `days` after")
	known := flag.Bool("known", false, "the seeds that recommendations were made with, instead of those held out")
	flag.Parse()
	if err := run(o, *known); err != nil {
		fmt.Fprintln(os.Stderr, "backtest:", err)
		os.Exit(1)
	}
}

func run(o options, known bool) error {
	seeds := synthetic.HeldOut
	if known {
		seeds = synthetic.Known
	}
	var all total
	if err := header(os.Stdout); err != nil {
		return err
	}
	for _, kind := range synthetic.Kinds {
		var sum total
		for _, seed := range seeds {
			r, err := judge(kind, seed, o)
			if err != nil {
				return err
			}
			sum.add(r, o)
			all.add(r, o)
			if r.harmed() {
				fmt.Fprintf(os.Stderr, "%s %d: %d over the limit, %d without the recommendation\n", kind, seed, r.After.Kills, r.Before.Kills)
			}
		}
		if err := sum.row(os.Stdout, kind); err != nil {
			return err
		}
	}
	return all.row(os.Stdout, "all")
}
