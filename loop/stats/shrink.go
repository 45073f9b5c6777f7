package stats

import "math"

// GainPrior is the default of gain_prior: the size of effect that is expected
// before anything is measured, as a difference of pass rates (4 points).
const GainPrior = 0.04

// Gain is a forecast of the true gain.
type Gain struct {
	Factor   float64 // what the observed delta is multiplied by, from 0 to 1
	Expected float64 // in the unit of the delta
}

// Shrink forecasts the true gain behind an observed delta, whose noise has the
// standard deviation sd, if effects have about the size tau; all three in the
// same unit. Without noise nothing is shrunk. A sd or tau that is negative or
// no number, and a tau of 0, are usage faults.
//
// Source: statistics.md F9.
func Shrink(delta, sd, tau float64) (Gain, error) {
	for _, x := range []float64{delta, sd, tau} {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return Gain{}, bad("%v is not a finite number", x)
		}
	}
	if sd < 0 || tau <= 0 {
		return Gain{}, bad("noise %v and prior %v: noise is at least 0 and a prior above it", sd, tau)
	}
	ratio := sd / tau
	factor := 1 / (1 + ratio*ratio)
	return Gain{Factor: factor, Expected: delta * factor}, nil
}
