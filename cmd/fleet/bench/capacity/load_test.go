// Package capacity reckons what a large fleet puts on Prometheus or Mimir: series, samples
// and bytes, from what the agent really serves and the rules really record, with pods that
// come and go.
package capacity

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"github.com/foliomem/folio/cmd/fleet/internal/exposition"
	"github.com/foliomem/folio/cmd/fleet/internal/metrics"
	"github.com/foliomem/folio/cmd/fleet/internal/node"
	"github.com/foliomem/folio/cmd/fleet/internal/rules"
)

// A Fleet is what is reckoned.
type Fleet struct {
	Nodes, Pods, Workloads int
	Scrape, Rules          time.Duration
	DeploysPerDay          float64 // of a workload: all its pods are replaced
	Sources                []rules.Source
}

// Default is 100,000 Go processes, one a pod, on 5,000 nodes.
func Default() Fleet {
	return Fleet{Nodes: 5000, Pods: 100_000, Workloads: 5000, Scrape: 30 * time.Second, Rules: rules.DefaultInterval, DeploysPerDay: 1, Sources: rules.Sources}
}

// A Scrape is what one agent serves.
type Scrape struct {
	Series     int
	Own        int // of which about the agent itself
	Bytes, Zip int
	Text       []byte
}

// source is an agent of so many containers, with figures of the size of real ones.
type source struct {
	containers int
	rng        *rand.Rand
}

func (s source) Own() exposition.Own {
	rss := uint64(40 << 20)
	return exposition.Own{Version: "v1.0.0", CPUSeconds: 1234.5, ResidentBytes: &rss, Sampling: .33,
		Samples: map[string]uint64{metrics.OutcomeClassed: 123456, metrics.OutcomeOther: 1234}}
}

func (s source) Snapshot() *node.Snapshot {
	n := &node.Snapshot{Synced: true, Pods: s.containers}
	for i := range s.containers {
		size := func() float64 { return float64(s.rng.Int64N(1<<20) << 12) }
		w := node.Workload{Processes: 1, Gauges: map[string]float64{}, Resident: map[string]float64{}, Charged: map[string]float64{}}
		w.Namespace, w.Pod, w.Container = fmt.Sprintf("team-%03d", i%200), fmt.Sprintf("service-%04d-7d9f8b6c5d-x%04d", i, i), "server"
		w.CPU, w.Sampled, w.CgroupCPU = s.rng.Float64()*1e6, s.rng.Float64()*1e6, s.rng.Float64()*1e6
		for c := range metrics.MemoryClasses {
			w.Tax[c] = s.rng.Float64() * 1e4
		}
		w.MinorFaults, w.MajorFaults, w.GCCycles = s.rng.Uint64N(1e9), s.rng.Uint64N(1e4), s.rng.Uint64N(1e6)
		for _, kind := range []string{metrics.KindAnon, metrics.KindFile, metrics.KindShmem} {
			w.Resident[kind] = size()
		}
		for _, part := range metrics.ChargedParts {
			w.Charged[part] = size()
		}
		for _, name := range []string{metrics.HeapResidentBytes, metrics.HeapHugeBytes, metrics.HeapBloatBytes, metrics.HeapGainBytes, metrics.LiveHeapBytes, metrics.HeapGoalBytes,
			metrics.CgroupMemoryBytes, metrics.CgroupPageCacheBytes, metrics.CgroupMemoryLimitBytes} {
			w.Gauges[name] = size()
		}
		w.Gauges[metrics.GOGCPercent], w.Gauges[metrics.GOMEMLIMITBytes], w.Gauges[metrics.CgroupCPULimitCores] = 100, math.Inf(1), 2
		w.Infos = []node.Info{{GoVersion: "go1.26.8", Module: "example.com/team/service", Version: "v1.2.3"}}
		n.Workloads = append(n.Workloads, w)
	}
	return n
}

// ScrapeOf is what an agent with so many containers serves, by the code that serves it.
func ScrapeOf(containers int) (Scrape, error) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(exposition.New("node-00001.region.example", source{containers, rand.New(rand.NewPCG(1, 2))})); err != nil {
		return Scrape{}, err
	}
	families, err := registry.Gather()
	if err != nil {
		return Scrape{}, err
	}
	var b, z bytes.Buffer
	zip := gzip.NewWriter(&z)
	out := Scrape{}
	for _, f := range families {
		out.Series += len(f.Metric)
		if strings.HasPrefix(f.GetName(), "folio_agent_") {
			out.Own += len(f.Metric)
		}
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			return out, err
		}
	}
	if _, err := zip.Write(b.Bytes()); err != nil {
		return out, err
	}
	if err := zip.Close(); err != nil {
		return out, err
	}
	out.Bytes, out.Zip, out.Text = b.Len(), z.Len(), b.Bytes()
	return out, nil
}

// Recorded is how many series the rules make: of each workload, and of each container.
func Recorded(sources []rules.Source) (perWorkload, perContainer int, err error) {
	f, err := rules.New(rules.Options{Interval: rules.DefaultInterval, Sources: sources})
	if err != nil {
		return 0, 0, err
	}
	for _, g := range f.Recording() {
		for _, r := range g.Rules {
			switch {
			case r.Record == rules.Info:
			case r.Record == rules.ContainerInfo:
				perContainer++
			case r.Record == rules.TaxCores && r.Labels[rules.LabelSource] == string(rules.Agent):
				perWorkload += len(metrics.MemoryClasses)
			default:
				perWorkload++
			}
		}
	}
	return perWorkload, perContainer, nil
}

// A Load is what the fleet puts on the server.
type Load struct {
	Scraped, Recorded           int     // series at a time
	ScrapedSamples, RuleSamples float64 // a second
	Head                        int     // series that a server has in memory at most: those of pods that are gone stay until their block is cut
	Network                     float64 // bytes a second, compressed
	TopSamples                  float64 // samples that folio-fleet top reads for a day
	RecommendSamples            float64 // and recommend for a week
}

// retain is for how long a server has a series in memory that gets no more samples: blocks
// of two hours are cut when the head has three.
const retain = 3 * time.Hour

// Reckon simulates a week of deployments: workloads of very different sizes (Zipf), each
// deployed at random times of a working day.
func (f Fleet) Reckon() (Load, error) {
	var l Load
	each := f.Pods / f.Nodes
	s, err := ScrapeOf(each)
	if err != nil {
		return l, err
	}
	perPod := float64(s.Series-s.Own) / float64(each)
	perWorkload, perContainer, err := Recorded(f.Sources)
	if err != nil {
		return l, err
	}
	l.Scraped = s.Series * f.Nodes
	l.Recorded = perWorkload*f.Workloads + perContainer*f.Pods
	l.ScrapedSamples, l.RuleSamples = float64(l.Scraped)/f.Scrape.Seconds(), float64(l.Recorded)/f.Rules.Seconds()
	l.Network = float64(s.Zip*f.Nodes) / f.Scrape.Seconds()
	l.Head = l.Scraped + l.Recorded + int((perPod+float64(perContainer))*f.gone())
	points := (24 * time.Hour / f.Rules).Seconds() * float64(time.Second)
	l.TopSamples = 5 * float64(f.Workloads) * points // of one source
	l.RecommendSamples = 7 * points * float64(perWorkload)
	return l, nil
}

// gone is the most pods of which series are still in memory.
func (f Fleet) gone() float64 {
	rng := rand.New(rand.NewPCG(3, 4))
	sizes, sum := make([]float64, f.Workloads), 0.0
	for i := range sizes {
		sizes[i] = math.Pow(float64(i+1), -.8)
		sum += sizes[i]
	}
	const minute, week = time.Minute, 7 * 24 * 60
	deployed := make([]float64, week) // pods replaced
	for _, size := range sizes {
		pods := size / sum * float64(f.Pods)
		for day := range 7 {
			for range poisson(rng, f.DeploysPerDay) {
				// In working hours: normal around 14:00.
				at := day*24*60 + int(math.Mod(840+150*rng.NormFloat64()+1440, 1440))
				deployed[min(at, week-1)] += pods
			}
		}
	}
	most, now := 0.0, 0.0
	for i, pods := range deployed {
		now += pods
		if j := i - int(retain/minute); j >= 0 {
			now -= deployed[j]
		}
		most = max(most, now)
	}
	return most
}

func poisson(rng *rand.Rand, mean float64) int {
	n, p, limit := 0, 1.0, math.Exp(-mean)
	for {
		if p *= rng.Float64(); p <= limit {
			return n
		}
		n++
	}
}
