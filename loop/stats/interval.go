package stats

import (
	"math"
	"math/big"
)

// z is the two-sided 95 % quantile of the normal distribution.
const z = 1.959963984540054

// maxAssertions is the largest pool of assertions, so that no square of them
// overflows.
const maxAssertions = 1_000_000_000

// Level is the coverage that every interval here aims at.
const Level = 0.95

// Interval is where the true value lies with 95 % confidence.
type Interval struct{ Low, High float64 }

// Wilson is the interval of a rate of passed out of total, from 0 to 1. It is
// a usage fault unless total > 0 and 0 <= passed <= total.
//
// Source: statistics.md F4.
func Wilson(passed, total int64) (Interval, error) {
	if total < 1 || passed < 0 || passed > total {
		return Interval{}, bad("%d of %d is not a count", passed, total)
	}
	return wilson(float64(passed)/float64(total), float64(total)), nil
}

// wilson is the interval of the rate p of n trials, where n need not be whole.
func wilson(p, n float64) Interval {
	middle, half, scale := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n)), 1+z*z/n
	i := Interval{max(0, (middle-half)/scale), min(1, (middle+half)/scale)}
	if p == 0 {
		i.Low = 0 // middle and half are equal but for rounding
	}
	if p == 1 {
		i.High = 1
	}
	return i
}

// Rate is the pass rate of one side with its interval.
type Rate struct {
	Interval
	Rate         *big.Rat // passed over total, from 0 to 1
	ClusterSE    float64  // standard error of Rate with evals as clusters; 0 for one eval
	DesignEffect float64  // by how much the clusters raise the variance, at least 1
	EffectiveN   float64  // assertions over DesignEffect
}

// Measured is one eval of a side: how many of its assertions passed, both
// pooled over the runs.
type Measured struct{ Passed, Total int64 }

// RateInterval is the pass rate of a side and its interval, where the
// assertions of an eval may stand and fall together. No eval, counts that are
// impossible and more than 1e9 assertions are usage faults.
//
// Source: statistics.md F4.
func RateInterval(evals []Measured) (Rate, error) {
	var passed, total int64
	for _, e := range evals {
		if e.Total < 1 || e.Passed < 0 || e.Passed > e.Total {
			return Rate{}, bad("%d of %d is not a count", e.Passed, e.Total)
		}
		if e.Total > maxAssertions-total {
			return Rate{}, bad("more than %d assertions", maxAssertions)
		}
		passed, total = passed+e.Passed, total+e.Total
	}
	if total == 0 {
		return Rate{}, bad("no eval was measured")
	}
	r := Rate{Rate: big.NewRat(passed, total), DesignEffect: 1}
	square := clusterSquare(len(evals), total, func(i int) (x, m int64) { return evals[i].Passed, evals[i].Total }, r.Rate)
	r.ClusterSE = root(square)
	naive := new(big.Rat).Sub(big.NewRat(1, 1), r.Rate)
	naive.Mul(naive, r.Rate)
	naive.Quo(naive, big.NewRat(total, 1))
	r.DesignEffect = designEffect(len(evals), square, naive)
	r.EffectiveN = float64(total) / r.DesignEffect
	r.Interval = wilson(float(r.Rate), r.EffectiveN)
	return r, nil
}

// Difference is what a candidate gains over its baseline, with the interval
// of the true gain.
type Difference struct {
	Interval
	Delta        *big.Rat // the sum of the d_i over the assertions, from -1 to 1
	Center       float64  // the middle of the interval before it is cut, nearer to 0 than Delta
	ClusterSE    float64  // standard error of Delta with evals as clusters; 0 for one eval
	NaiveSE      float64  // the same as if all assertions were independent
	DesignEffect float64  // ClusterSE^2 over NaiveSE^2, at least 1
}

// Change is one eval on both sides: D more assertions passed, of Total. Both
// are pooled over the runs of a side: D summed, Total the assertions times
// the runs.
type Change struct{ D, Total int64 }

// DeltaInterval is the difference of two sides and its interval, which never
// has the width 0. up assertions went from fail to pass and down from pass to
// fail, run j against run j; up - down is the sum of the differences.
//
// No eval, a difference larger than the eval, flips that do not add up and
// more than 1e9 assertions are usage faults.
//
// Source: statistics.md F5.
func DeltaInterval(evals []Change, up, down int64) (Difference, error) {
	var net, total int64
	for _, e := range evals {
		if e.Total < 1 || max(e.D, -e.D) > e.Total {
			return Difference{}, bad("a difference of %d in an eval of %d assertions", e.D, e.Total)
		}
		if e.Total > maxAssertions-total {
			return Difference{}, bad("more than %d assertions", maxAssertions)
		}
		net, total = net+e.D, total+e.Total
	}
	switch {
	case total == 0:
		return Difference{}, bad("no eval was measured")
	case up < 0 || down < 0 || up > total || down > total-up:
		return Difference{}, bad("%d up and %d down of %d assertions", up, down, total)
	case up-down != net:
		return Difference{}, bad("%d up and %d down do not add up to the difference %d of the evals", up, down, net)
	}
	d := Difference{Delta: big.NewRat(net, total)}
	cluster := ClusterVariance(evals)
	naive := big.NewRat(net*net, total)
	naive.Sub(big.NewRat(up+down, 1), naive)
	naive.Quo(naive, new(big.Rat).SetInt(square(total)))
	d.ClusterSE, d.NaiveSE, d.DesignEffect = root(cluster), root(naive), designEffect(len(evals), cluster, naive)

	// Half a flip each way is added on either side, so nothing flipped is not
	// taken for certainty.
	n := float64(total + 2)
	p1, p2 := float64(up+1)/n, float64(down+1)/n
	d.Center = float64(net) / n
	half := z * math.Sqrt((p1+p2-d.Center*d.Center)/n) * math.Sqrt(d.DesignEffect)
	d.Interval = Interval{max(-1, d.Center-half), min(1, d.Center+half)}
	return d, nil
}

// ClusterVariance is the variance of the difference of two sides with the
// evals as clusters; 0 for one eval. The evals are such as [DeltaInterval]
// takes.
//
// Source: statistics.md F5 (cluster^2).
func ClusterVariance(evals []Change) *big.Rat {
	var net, total int64
	for _, e := range evals {
		net, total = net+e.D, total+e.Total
	}
	return clusterSquare(len(evals), total, func(i int) (x, m int64) { return evals[i].D, evals[i].Total }, big.NewRat(net, total))
}

// clusterSquare is n/(n-1) * sum (x_i - mean*m_i)^2 / total^2, 0 for one
// eval. Exact: equal evals give 0 and nothing else.
func clusterSquare(n int, total int64, eval func(i int) (x, m int64), mean *big.Rat) *big.Rat {
	sum := new(big.Rat)
	if n < 2 {
		return sum
	}
	for i := range n {
		x, m := eval(i)
		rest := new(big.Rat).Mul(mean, big.NewRat(m, 1))
		rest.Sub(big.NewRat(x, 1), rest)
		sum.Add(sum, rest.Mul(rest, rest))
	}
	sum.Mul(sum, big.NewRat(int64(n), int64(n-1)))
	return sum.Quo(sum, new(big.Rat).SetInt(square(total)))
}

// designEffect is cluster over naive, at least 1; 1 where there is nothing to
// compare.
func designEffect(n int, cluster, naive *big.Rat) float64 {
	if n < 2 || naive.Sign() <= 0 {
		return 1
	}
	return max(1, float(new(big.Rat).Quo(cluster, naive)))
}

func square(n int64) *big.Int { return new(big.Int).Mul(big.NewInt(n), big.NewInt(n)) }

func float(r *big.Rat) float64 {
	f, _ := r.Float64()
	return f
}

func root(r *big.Rat) float64 { return math.Sqrt(float(r)) }
