package stat

import (
	"math"
	"slices"
)

// Effects separates what an arm costs from what a round cost. A round is a
// stretch of time in which each arm ran at most once; when the machine slows
// down for a while, all arms of that round are slow together. With
// log y[arm][round] = arm + round + noise, alternating medians (Tukey's median
// polish) estimate both parts, also when some arms were not run in some rounds.
//
// y maps arm to round to measurement; measurements that are not positive are
// ignored. The result has one entry an arm that was measured: its cost relative
// to the geometric middle of the arms. Only ratios of two results mean anything.
//
// Source: J. W. Tukey, Exploratory Data Analysis, 1977, chapter 11.
func Effects(y map[string]map[int]float64) map[string]float64 {
	arms := polish(y)
	for arm, v := range arms {
		arms[arm] = math.Exp(v)
	}
	return arms
}

// polish fits log y = arm + round by alternating medians, and returns the arms' part.
func polish(y map[string]map[int]float64) map[string]float64 {
	logs := make(map[string]map[int]float64, len(y))
	rounds := make(map[int]float64)
	arms := make(map[string]float64)
	for arm, row := range y {
		for r, v := range row {
			if v <= 0 || math.IsNaN(v) || math.IsInf(v, 0) {
				continue
			}
			if logs[arm] == nil {
				logs[arm] = make(map[int]float64)
			}
			logs[arm][r] = math.Log(v)
			rounds[r] = 0
			arms[arm] = 0
		}
	}
	const steps = 30 // converges in a handful; the bound only guards against cycling
	var res []float64
	for range steps {
		moved := 0.0
		for arm, row := range logs {
			res = res[:0]
			for r, v := range row {
				res = append(res, v-rounds[r])
			}
			m := medianOf(res)
			moved = math.Max(moved, math.Abs(m-arms[arm]))
			arms[arm] = m
		}
		for r := range rounds {
			res = res[:0]
			for arm, row := range logs {
				if v, ok := row[r]; ok {
					res = append(res, v-arms[arm])
				}
			}
			rounds[r] = medianOf(res)
		}
		if moved < 1e-9 {
			break
		}
	}
	return arms
}

// medianOf returns the median of values, which it sorts.
func medianOf(values []float64) float64 {
	slices.Sort(values)
	return middle(values)
}
