// Command replay writes samples of many series to a Prometheus database in the
// directory, opens it again, which replays its log, and compacts it:
// replay dir series samples.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb"
)

func main() {
	series, err := strconv.Atoi(os.Args[2])
	samples, err2 := strconv.Atoi(os.Args[3])
	if err == nil {
		err = err2
	}
	if err == nil {
		err = run(os.Args[1], series, samples)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const interval = 15_000 // ms

func run(dir string, series, samples int) error {
	ctx := context.Background()
	db, err := tsdb.Open(dir, nil, nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		return err
	}
	all := make([]labels.Labels, series)
	for i := range all {
		all[i] = labels.FromStrings("__name__", "http_requests_total", "instance", fmt.Sprintf("host-%d:9100", i%997), "path", fmt.Sprintf("/api/v1/item/%d", i), "code", "200")
	}
	for s := range samples {
		app := db.Appender(ctx)
		for i, l := range all {
			if _, err := app.Append(0, l, int64(s)*interval, float64(i+s)); err != nil {
				return err
			}
		}
		if err := app.Commit(); err != nil {
			return err
		}
	}
	if err := db.Close(); err != nil {
		return err
	}
	if db, err = tsdb.Open(dir, nil, nil, tsdb.DefaultOptions(), nil); err != nil {
		return err
	}
	if err := db.CompactHead(tsdb.NewRangeHead(db.Head(), db.Head().MinTime(), db.Head().MaxTime())); err != nil {
		return err
	}
	fmt.Println(len(db.Blocks()), "blocks")
	return db.Close()
}
