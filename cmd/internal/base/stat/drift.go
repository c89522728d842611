package stat

import (
	"cmp"
	"math"
	"slices"
)

// A Moment is a measurement of an arm and when it was taken: its place among all.
type Moment struct {
	Arm  int // from 0
	At   int
	Cost float64 // positive
}

// A Drift separates what arms cost from what the machine did meanwhile, which is
// taken to wander: log cost = arm + machine(at) + noise. So a round of many arms
// needs no steady machine, nor do arms that joined later.
//
// It is a penalised least-squares fit, solved by backfitting: the squares of
// residuals, and those of the machine's steps from trial to trial four times. Large
// residuals count by their size only, as Huber proposed: a single trial that was
// disturbed moves little.
//
// Sources: A. Buja, T. Hastie, R. Tibshirani, Linear smoothers and additive models,
// Annals of Statistics 17, 1989; P. J. Huber, Robust Statistics, 1981, section 7.8.
type Drift struct {
	Effect   []float64 // of each arm, up to a common factor; NaN without a measurement
	Adjusted []float64 // of each moment: its cost less the machine's part
	Noise    float64   // standard deviation of the log of a cost, by the median residual
}

const (
	stiffness = 4.0   // the penalty: steps are about half as large as the noise
	huber     = 1.345 // times the noise is a large residual
)

// NewDrift fits measurements of so many arms.
func NewDrift(arms int, moments []Moment) Drift {
	f := newDriftFit(arms, moments)
	noise := 0.0
	for range 4 { // the weights settle quickly
		f.solve()
		noise = f.noise()
		for i := range f.y {
			r := math.Abs(f.residual(i))
			if f.weight[i] = 1; r > huber*noise {
				f.weight[i] = huber * noise / r
			}
		}
		if noise == 0 {
			break
		}
	}
	d := Drift{Effect: f.effect, Adjusted: make([]float64, len(moments)), Noise: noise}
	for i, m := range f.order {
		d.Adjusted[m] = math.Exp(f.y[i] - f.machine[i])
	}
	ran := make([]bool, arms)
	for _, a := range f.arm {
		ran[a] = true
	}
	for a := range d.Effect {
		if d.Effect[a] = math.Exp(d.Effect[a]); !ran[a] {
			d.Effect[a] = math.NaN()
		}
	}
	return d
}

// A driftFit has the moments in the order of time.
type driftFit struct {
	order      []int
	arm        []int
	y          []float64 // log cost
	weight     []float64
	machine    []float64
	effect     []float64
	sum, count []float64 // of the arms
	diag, rhs  []float64 // of the machine's equations
}

func newDriftFit(arms int, moments []Moment) *driftFit {
	n := len(moments)
	f := &driftFit{order: make([]int, n), arm: make([]int, n), y: make([]float64, n), weight: make([]float64, n), machine: make([]float64, n),
		effect: make([]float64, arms), sum: make([]float64, arms), count: make([]float64, arms),
		diag: make([]float64, n), rhs: make([]float64, n)}
	for i := range f.order {
		f.order[i] = i
	}
	slices.SortFunc(f.order, func(a, b int) int { return cmp.Compare(moments[a].At, moments[b].At) })
	for i, m := range f.order {
		f.arm[i], f.y[i], f.weight[i] = moments[m].Arm, math.Log(moments[m].Cost), 1
	}
	return f
}

func (f *driftFit) residual(i int) float64 { return f.y[i] - f.machine[i] - f.effect[f.arm[i]] }

// solve alternates between the arms and the machine until nothing moves.
func (f *driftFit) solve() {
	const steps, still = 300, 1e-5
	for range steps {
		clear(f.sum)
		clear(f.count)
		for i, a := range f.arm {
			f.sum[a] += f.weight[i] * (f.y[i] - f.machine[i])
			f.count[a] += f.weight[i]
		}
		moved := 0.0
		for a := range f.effect {
			if f.count[a] > 0 {
				next := f.sum[a] / f.count[a]
				moved, f.effect[a] = math.Max(moved, math.Abs(next-f.effect[a])), next
			}
		}
		if moved < still {
			return
		}
		f.wander()
	}
}

// wander solves for the machine, given the arms: a tridiagonal system.
func (f *driftFit) wander() {
	n := len(f.y)
	for i := range n {
		ends := 2.0
		if i == 0 || i == n-1 {
			ends = 1
		}
		if n == 1 {
			ends = 0
		}
		f.diag[i] = f.weight[i] + stiffness*ends
		f.rhs[i] = f.weight[i] * (f.y[i] - f.effect[f.arm[i]])
		if i > 0 {
			part := -stiffness / f.diag[i-1]
			f.diag[i] += stiffness * part
			f.rhs[i] -= part * f.rhs[i-1]
		}
	}
	for i := n - 1; i >= 0; i-- {
		if i < n-1 {
			f.rhs[i] += stiffness * f.machine[i+1]
		}
		f.machine[i] = f.rhs[i] / f.diag[i]
	}
}

// noise estimates the standard deviation of a measurement. A fit follows the data:
// what the arms and the machine took is added again.
func (f *driftFit) noise() float64 {
	n, fitted := float64(len(f.y)), 0.0
	for _, c := range f.count {
		if c > 0 {
			fitted++
		}
	}
	// The machine's part takes about one in 2*sqrt(stiffness) measurements.
	free := math.Max(n-fitted, 0) * (1 - 1/(2*math.Sqrt(stiffness)))
	var res []float64
	for i := range f.y {
		res = append(res, math.Abs(f.residual(i)))
	}
	if len(res) == 0 {
		return math.NaN()
	}
	return 1.4826 * medianOf(res) * math.Sqrt(n/math.Max(free, 1))
}
