// Command server shows what Folio's settings do for servers with the limits of a container.
//
//	go run ./cmd/bench/server [-rounds 6] [-only api,series] [-rate api=900,series=1200] [-json server.json]
//	go run ./cmd/bench/server -full		# all services and arms, with long loads and searches
//	go run ./cmd/bench/server -rounds 2 -short	# shows that it works, no more
//	go run ./cmd/bench/server -read server.json	# the tables again
//
// It takes some 15 minutes on two services, without the arm automemlimit; -full two and a half
// hours: 15 minutes for each search, and 24 for the rounds of each service. Services can be
// measured one by one, with -only and a -json file each, and read together:
// -read api.json,cache.json. So can rounds: -read api-1.json,api-2.json; or -add has those that
// -json names go on with as many. What was measured is in that file after each run, so whatever
// stops the command keeps it. It needs root, or a cgroup that it may write.
//
// In less time, and with the rates and answers of folio tune found before:
//
//	go run ./cmd/bench/server -only api -rounds 0 -json api-found.json
//	go run ./cmd/bench/server -only api -with api-found.json -within 6m -json api.json
//
// Four services, each a program of a module of its own in a directory here: api (a JSON API
// over a map of 200 MB), cache (a key-value store with times to live, on ristretto), series
// (the head and query engine of Prometheus) and rpc (gRPC). Each builds its live heap from
// fixed seeds before it listens, and the n-th request of a load is about the same in every
// run.
//
// A service runs in a cgroup with one CPU and 512 MiB or 1 GiB (-limit has others), pinned to
// the first CPU that this process may use, so that GOMAXPROCS is 1; the load generator (package
// load) and what measures are pinned to the second. Each run is a fresh process: it is started, answers, gets the
// load for a warm-up and then for the time that counts, and is stopped. Figures but the
// peaks of memory are of the time that counts.
//
// # Arms
//
// All arms are the same binary, which imports automemlimit and folio/auto; the environment
// turns them off.
//
//	default		Go's defaults
//	automemlimit	github.com/KimMachineGun/automemlimit: GOMEMLIMIT is 90% of the limit
//	GOGC=off+limit	GOGC=off, GOMEMLIMIT is 90% of the limit
//	auto		folio/auto, with its defaults
//	tune		the first recommendation of a folio tune made before the rounds, with
//			the same limits and rate, and shorter loads
//	auto-2P		auto with a second P while the GC marks, too (FOLIO=secondp=gc). Only
//			with -arms
//	auto-sweep	auto with a second P while the heap is swept (FOLIO=secondp=sweep).
//			Only with -arms
//	no GC		GOGC=off in a container with four times the memory: no setting of the
//			service as it is deployed, but what p99 is where no setting leaves GC
//			cycles out. Only with -arms
//
// # Rates
//
// A rate is fixed for each service, for all arms: 70% of the highest at which the default
// keeps p99 below twice its unloaded p99 and completes 99% of the requests, as folio's --rate
// auto finds it, before all else. -rate sets one that was found before.
//
// # Figures
//
// Percentiles are of the merged histograms of an arm's runs, from the intended starts;
// intervals resample runs (six at least). Against the default: medians of ratios within
// rounds, with intervals, or ranges where rounds are few. CPU per request is all CPU time
// of the service by the requests that succeeded. A run whose
// generator was late is dropped and repeated, three times at most. A run that an OOM killer
// ended counts as a kill; its latencies count for nothing. The share of GC in CPU time is by
// sampling, pooled over all runs.
//
// # Is it the GC?
//
// A setting of the GC cannot help a p99 that is not the GC's doing. The evidence is the arm
// in which GC cycles run for the least part of the time. Where that part is below 0.5%, cycles
// and the backlog that they leave touch fewer than 1% of the requests, so the p99 of that arm is
// without the GC, and what the default has more is the most that the GC can have done. Below it
// stands what the slow requests of each arm overlap, as folio run says it.
package main
