package stats

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"forge/gitstore/fault"
)

// repeat is n times x.
func repeat(x int64, n int) []int64 { return slices.Repeat([]int64{x}, n) }

// statistics.md section 3: the numbers worked there.
func TestSignFlipWorked(t *testing.T) {
	tests := map[string]struct {
		d    []int64
		net  int64
		p    string
		midP string
	}{
		"worked":                {[]int64{1, 2, -1, 0, 3, 1, 0, 2}, 8, "1/16", "5/128"},
		"five of five":          {repeat(1, 5), 5, "1/32", "1/64"},
		"net 0":                 {[]int64{2, -1, -1, 0}, 0, "5/8", "1/2"},
		"twelve":                {[]int64{3, 1, 1, -1, 2, 0, 1, 1, -2, 1, 1, 2}, 10, "89/2048", "121/4096"},
		"nothing":               {nil, 0, "1", "1/2"},
		"nothing moved":         {[]int64{0, 0}, 0, "1", "1/2"},
		"counted once":          {[]int64{1, 1}, 2, "1/4", "1/8"},                                      // section 13, 5: an ascending inner loop counts a value twice
		"one eval is all":       {[]int64{1_000_000, 0, 0}, 1_000_000, "1/2", "1/4"},                   // section 13, 5: a huge difference
		"a huge one and others": {[]int64{999_997, -1, -1, -1}, 999_994, "1/2", "15/32"},               // the small ones cannot undo it, the huge one alone decides
		"common factor":         {[]int64{3_000_000_000, 6_000_000_000}, 9_000_000_000, "1/4", "1/8"},  // scaled down to 1, 2
		"forty evals":           {repeat(2, 40), 80, "1/1099511627776", "1/2199023255552"},             // section 13, 5
		"beyond any double":     {repeat(1, 1000), 1000, power2(1000), power2(1001)},                   // 2^-1000 is no 0
		"all worse":             {repeat(-1, 5), -5, "1", "63/64"},                                     // evidence for worse is 1/64
		"order":                 {[]int64{2, 0, 3, -1, 2, 1, 0, 1}, 8, "1/16", "5/128"},                // section 13, 6
		"ties change nothing":   {[]int64{0, 0, 0, 1, 2, -1, 0, 3, 1, 0, 2, 0, 0}, 8, "1/16", "5/128"}, // only what moved counts
		"sum of one million":    {append(repeat(10, 3), 999_970), 1_000_000, "1/16", "1/32"},           // common factor 10
		"larger sum":            {[]int64{700_000, -200_000, 100_000}, 600_000, "3/8", "5/16"},         // 6, 8 and 10 of the eight
		"same size both ways":   {[]int64{4, -4, 4, -4}, 0, "11/16", "1/2"},                            // 6 of 16 are 0
		"one moved, worse":      {[]int64{-6, 0, 0, 0, 0, 0, 0, 0}, -6, "1", "3/4"},                    // 1/4 for worse
		"two moved, unequal":    {[]int64{-2, 1}, -1, "3/4", "5/8"},                                    // -1, +1, +3 of 4
		"ten against one":       {append(repeat(1, 10), -10), 0, "1025/2048", "1/2"},                   // half of all, and half of the two ties
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := must[Flipped](t)(SignFlip(tt.d))
			if got.Net != tt.net || got.P.Cmp(rat(t, tt.p)) != 0 || got.MidP.Cmp(rat(t, tt.midP)) != 0 {
				t.Errorf("SignFlip(%v) = net %d, p %s, mid-p %s, want %d, %s, %s", tt.d, got.Net, got.P.RatString(), got.MidP.RatString(), tt.net, tt.p, tt.midP)
			}
		})
	}
}

// power2 is 2^-n as a ratio.
func power2(n uint) string { return "1/" + new(big.Int).Lsh(big.NewInt(1), n).String() }

// bruteForce counts all ways to give the differences a sign.
func bruteForce(d []int64) (p, midP *big.Rat) {
	var net, above, equal int64
	for _, x := range d {
		net += x
	}
	for signs := range 1 << len(d) {
		var sum int64
		for i, x := range d {
			if signs>>i&1 == 1 {
				x = -x
			}
			sum += x
		}
		if sum > net {
			above++
		}
		if sum == net {
			equal++
		}
	}
	return big.NewRat(above+equal, 1<<len(d)), big.NewRat(2*above+equal, 2<<len(d))
}

// F3 is the share of all sign patterns, and says the same of any order.
func TestSignFlipIsBruteForce(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 7))
	for range 300 {
		d := make([]int64, random.IntN(11))
		for i := range d {
			d[i] = random.Int64N(9) - 4
		}
		got := must[Flipped](t)(SignFlip(d))
		p, midP := bruteForce(d)
		if got.P.Cmp(p) != 0 || got.MidP.Cmp(midP) != 0 {
			t.Fatalf("SignFlip(%v) = p %s, mid-p %s, want %s, %s", d, got.P.RatString(), got.MidP.RatString(), p.RatString(), midP.RatString())
		}
		shuffled := slices.Clone(d)
		random.Shuffle(len(d), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if again := must[Flipped](t)(SignFlip(shuffled)); again.MidP.Cmp(got.MidP) != 0 {
			t.Fatalf("SignFlip(%v) = %s, of %v it is %s", shuffled, again.MidP.RatString(), d, got.MidP.RatString())
		}
	}
}

// Section 13, 6: evidence for better and for worse add up to 1, exactly.
func FuzzSignFlip(f *testing.F) {
	f.Add([]byte{1, 2, 255, 0, 3})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		d, back := make([]int64, len(data)), make([]int64, len(data))
		for i, x := range data {
			d[i], back[i] = int64(int8(x)), -int64(int8(x))
		}
		there, err := SignFlip(d)
		if err != nil {
			t.Skip()
		}
		again := must[Flipped](t)(SignFlip(back))
		if there.Worse().Cmp(again.MidP) != 0 {
			t.Errorf("1 - mid-p of %v = %s, mid-p of its opposite %s", d, there.Worse().RatString(), again.MidP.RatString())
		}
		if there.MidP.Sign() <= 0 || there.Worse().Sign() <= 0 || there.P.Cmp(there.MidP) <= 0 {
			t.Errorf("SignFlip(%v) = p %s, mid-p %s", d, there.P.RatString(), there.MidP.RatString())
		}
		if there.TwoSided().Cmp(big.NewRat(1, 1)) > 0 {
			t.Errorf("two-sided p of %v = %s", d, there.TwoSided().RatString())
		}
	})
}

func TestSignFlipRefuses(t *testing.T) {
	tests := map[string][]int64{
		"too many moved": repeat(1, 1001),
		"too large":      {1_000_000, 1},
		"much too large": {1 << 62, 1 << 62},
		"no size":        {math.MinInt64},
	}
	for name, d := range tests {
		if _, err := SignFlip(d); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: SignFlip = %v, want a usage fault", name, err)
		}
	}
}

// F3: weights are scaled to the smallest whole numbers.
func TestWhole(t *testing.T) {
	tests := map[string]struct {
		d    []string
		want []int64
		ok   bool
	}{
		"halves":       {[]string{"1/2", "-1", "0", "3/2"}, []int64{1, -2, 0, 3}, true},
		"common":       {[]string{"4", "-6"}, []int64{2, -3}, true},
		"thirds":       {[]string{"1/3", "1/2"}, []int64{2, 3}, true},
		"zero":         {[]string{"0", "0"}, []int64{0, 0}, true},
		"none":         {nil, []int64{}, true},
		"too fine":     {[]string{"1/1000001", "1"}, nil, false},
		"at the limit": {[]string{"1/999999", "1"}, []int64{1, 999_999}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var d []*big.Rat
			for _, text := range tt.d {
				d = append(d, rat(t, text))
			}
			got, ok := Whole(d)
			if ok != tt.ok || ok && !slices.Equal(got, tt.want) {
				t.Errorf("Whole(%v) = %v, %t, want %v, %t", tt.d, got, ok, tt.want, tt.ok)
			}
		})
	}
	var long []*big.Rat
	for i := range int64(400) { // denominators whose common multiple has thousands of digits
		long = append(long, big.NewRat(1, 1_000_003+2*i))
	}
	if _, ok := Whole(long); ok {
		t.Error("Whole of 400 odd denominators is ok")
	}
}

// F2, worked and at the edges.
func TestMcNemar(t *testing.T) {
	tests := []struct {
		up, down       int64
		one, two, midP string
	}{
		{5, 0, "1/32", "1/16", "1/64"},
		{4, 0, "1/16", "1/8", "1/32"},
		{15, 6, "5135/131072", "5135/65536", "13757/524288"},
		{0, 0, "1", "1", "1/2"},
		{3, 3, "21/32", "1", "1/2"}, // the doubled tail is more than 1
		{0, 5, "1", "1/16", "63/64"},
	}
	for _, tt := range tests {
		got := must[Paired](t)(McNemar(tt.up, tt.down))
		if got.OneSided.Cmp(rat(t, tt.one)) != 0 || got.TwoSided.Cmp(rat(t, tt.two)) != 0 || got.MidP.Cmp(rat(t, tt.midP)) != 0 {
			t.Errorf("McNemar(%d, %d) = %s, %s, %s, want %s, %s, %s", tt.up, tt.down,
				got.OneSided.RatString(), got.TwoSided.RatString(), got.MidP.RatString(), tt.one, tt.two, tt.midP)
		}
	}
	for _, bad := range [][2]int64{{-1, 0}, {0, -1}, {100_001, 0}, {60_000, 60_000}, {math.MaxInt64, math.MaxInt64}} {
		if _, err := McNemar(bad[0], bad[1]); fault.KindOf(err) != fault.Usage {
			t.Errorf("McNemar(%d, %d) = %v, want a usage fault", bad[0], bad[1], err)
		}
	}
}

// On assertions of the size 1 the sign-flip test is the sign test.
func TestSignTestIsSignFlipOfSigns(t *testing.T) {
	for wins := range 8 {
		for losses := range 8 {
			d := append(append(repeat(1, wins), repeat(-1, losses)...), 0, 0)
			sign, flip := must[Paired](t)(SignTest(d)), must[Flipped](t)(SignFlip(d))
			if sign.OneSided.Cmp(flip.P) != 0 || sign.MidP.Cmp(flip.MidP) != 0 {
				t.Errorf("%d wins, %d losses: sign test %s, sign-flip %s", wins, losses, sign.OneSided.RatString(), flip.P.RatString())
			}
		}
	}
}

// Section 13, 8: F5 where it is most strained.
func TestDeltaIntervalEdges(t *testing.T) {
	tests := map[string]struct {
		evals    []Change
		up, down int64
		low      float64
		high     float64
	}{
		"nothing flipped": {[]Change{{0, 4}, {0, 5}, {0, 4}}, 0, 0, -0.184787, 0.184787}, // worked
		"one eval":        {[]Change{{3, 5}}, 3, 0, -0.111048, 0.968191},
		"all flipped up":  {[]Change{{4, 4}, {5, 5}}, 9, 0, 0.478409, 1},
		"all flipped":     {[]Change{{-1, 1}}, 0, 1, -1, 0.733536},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := must[Difference](t)(DeltaInterval(tt.evals, tt.up, tt.down))
			if math.Abs(got.Low-tt.low) > 1e-6 || math.Abs(got.High-tt.high) > 1e-6 {
				t.Errorf("DeltaInterval = [%f, %f], want [%f, %f]", got.Low, got.High, tt.low, tt.high)
			}
		})
	}
}

// Every interval lies in its range, is never a point, and holds its middle.
func TestIntervalsInRange(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 8))
	for range 2000 {
		evals := make([]Change, 1+random.IntN(8))
		var up, down int64
		sides := make([]Measured, len(evals))
		for i := range evals {
			m := 1 + random.Int64N(6)
			u := random.Int64N(m + 1)
			d := random.Int64N(m - u + 1)
			evals[i], up, down = Change{u - d, m}, up+u, down+d
			sides[i] = Measured{u, m}
		}
		got := must[Difference](t)(DeltaInterval(evals, up, down))
		if !(got.Low >= -1 && got.Low < got.Center && got.Center < got.High && got.High <= 1) || got.DesignEffect < 1 {
			t.Fatalf("DeltaInterval(%v, %d, %d) = %+v", evals, up, down, got)
		}
		rate := must[Rate](t)(RateInterval(sides))
		if p := float(rate.Rate); !(rate.Low >= 0 && rate.Low <= p && p <= rate.High && rate.High <= 1 && rate.Low < rate.High) || rate.DesignEffect < 1 {
			t.Fatalf("RateInterval(%v) = %+v", sides, rate)
		}
	}
}

func TestIntervalsRefuse(t *testing.T) {
	tests := map[string]func() error{
		"wilson of nothing":  func() error { _, err := Wilson(0, 0); return err },
		"more than all":      func() error { _, err := Wilson(3, 2); return err },
		"rate of nothing":    func() error { _, err := RateInterval(nil); return err },
		"an empty eval":      func() error { _, err := RateInterval([]Measured{{0, 0}}); return err },
		"too many (rate)":    func() error { _, err := RateInterval([]Measured{{0, 1 << 62}, {0, 1 << 62}}); return err },
		"too many (delta)":   func() error { _, err := DeltaInterval([]Change{{0, 1_000_000_000}, {0, 1}}, 0, 0); return err },
		"flips out of range": func() error { _, err := DeltaInterval([]Change{{0, 2}}, math.MaxInt64, math.MaxInt64); return err },
		"delta of nothing":   func() error { _, err := DeltaInterval(nil, 0, 0); return err },
		"more than the eval": func() error { _, err := DeltaInterval([]Change{{3, 2}}, 3, 0); return err },
		"flips not adding":   func() error { _, err := DeltaInterval([]Change{{1, 2}}, 2, 0); return err }, // section 13, 8: D = b - c
		"too many flips":     func() error { _, err := DeltaInterval([]Change{{1, 2}}, 2, 1); return err },
		"negative flips":     func() error { _, err := DeltaInterval([]Change{{1, 2}}, 0, -1); return err },
		"negative noise":     func() error { _, err := Shrink(0.1, -1, 0.04); return err },
		"no prior":           func() error { _, err := Shrink(0.1, 1, 0); return err },
		"no number":          func() error { _, err := Shrink(math.NaN(), 1, 0.04); return err },
	}
	for name, run := range tests {
		if err := run(); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v, want a usage fault", name, err)
		}
	}
}

// The largest set of evals there is, with large evals: the test stays exact.
func BenchmarkSignFlip(b *testing.B) {
	for _, n := range []int{25, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			d := make([]int64, n)
			for i := range d {
				d[i] = random.Int64N(11) - 4
			}
			for b.Loop() {
				if _, err := SignFlip(d); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSignFlipAtTheLimit(b *testing.B) {
	d := make([]int64, 100) // weights that scale to a sum just under a million
	for i := range d {
		d[i] = 9_900 + int64(i%3)
	}
	for b.Loop() {
		if _, err := SignFlip(d); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDeltaInterval(b *testing.B) {
	evals := make([]Change, 100)
	for i := range evals {
		evals[i] = Change{int64(i%3) - 1, 5}
	}
	for b.Loop() {
		if _, err := DeltaInterval(evals, 50, 51); err != nil {
			b.Fatal(err)
		}
	}
}
