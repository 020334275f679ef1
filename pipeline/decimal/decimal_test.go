package decimal

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// rat returns the value of d.
func (d Decimal) rat() *big.Rat {
	c := new(big.Int).SetUint64(d.hi)
	c.Lsh(c, 64).Or(c, new(big.Int).SetUint64(d.lo))
	if d.neg {
		c.Neg(c)
	}
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(d.exp, -d.exp))), nil)
	if d.exp < 0 {
		return new(big.Rat).SetFrac(c, p)
	}
	return new(big.Rat).SetInt(c.Mul(c, p))
}

// decimalText draws numbers of DynamoDB's range in all spellings that DynamoDB accepts.
var decimalText = rapid.Custom(func(t *rapid.T) string {
	n := rapid.SampledFrom([]int{1, 2, 5, 17, 19, 20, 37, 38}).Draw(t, "digits")
	d := []byte(rapid.StringMatching(fmt.Sprintf("[1-9][0-9]{%d}", n-1)).Draw(t, "coefficient"))
	for i := range d { // runs of zeros and nines, which carry and cancel
		switch rapid.IntRange(0, 5).Draw(t, "run") {
		case 0:
			d[i] = '9'
		case 1:
			d[i] = '0'
		}
	}
	if d[0] == '0' {
		d[0] = '1'
	}
	magnitude := rapid.OneOf(rapid.IntRange(-40, 40), rapid.IntRange(minMagnitude, maxMagnitude),
		rapid.SampledFrom([]int{minMagnitude, maxMagnitude})).Draw(t, "magnitude")
	point := rapid.IntRange(0, len(d)).Draw(t, "point")
	sign := rapid.SampledFrom([]string{"", "-", "+"}).Draw(t, "sign")
	zeros := strings.Repeat("0", rapid.IntRange(0, 3).Draw(t, "zeros"))
	e := rapid.SampledFrom([]string{"e", "E"}).Draw(t, "e")
	return fmt.Sprintf("%s%s%s.%s%s%s%d", sign, zeros, d[:point], d[point:], zeros, e, magnitude-point+1)
})

var decimals = rapid.Custom(func(t *rapid.T) Decimal {
	if rapid.IntRange(0, 9).Draw(t, "kind") == 0 {
		return Of(rapid.Int64().Draw(t, "int"))
	}
	d, err := Parse(decimalText.Draw(t, "text"))
	if err != nil {
		t.Fatal(err)
	}
	return d
})

// fits reports whether r is in DynamoDB's range and precision.
func fits(r *big.Rat) bool {
	if r.Sign() == 0 {
		return true
	}
	text := strings.Trim(strings.Replace(r.FloatString(-minMagnitude+MaxDigits), ".", "", 1), "-0")
	abs := new(big.Rat).Abs(r)
	one := func(exp int) *big.Rat {
		p := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exp, -exp))), nil))
		if exp < 0 {
			p.Inv(p)
		}
		return p
	}
	return len(text) <= MaxDigits && abs.Cmp(one(minMagnitude)) >= 0 && abs.Cmp(one(maxMagnitude+1)) < 0
}

// Fact 12: N has up to 38 digits and is always exact.
func TestFact12_ExactNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := decimalText.Draw(t, "text")
		want, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("big.Rat does not read %q", text)
		}
		d, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if d.rat().Cmp(want) != 0 {
			t.Fatalf("%q was read as %v", text, d)
		}
		canonical := d.String()
		if strings.ContainsAny(canonical, "eE+") {
			t.Fatalf("%q: canonical text %q", text, canonical)
		}
		again, err := Parse(canonical)
		if err != nil || again != d {
			t.Fatalf("%q: %q was read back as %v, %v", text, canonical, again, err)
		}
		if got, _ := new(big.Rat).SetString(canonical); got.Cmp(want) != 0 {
			t.Fatalf("%q: canonical text %q means something else", text, canonical)
		}
	})
}

func TestDecimal_AgreesWithBigRat(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, e := decimals.Draw(t, "d"), decimals.Draw(t, "e")
		if rapid.IntRange(0, 3).Draw(t, "near") == 0 { // the two numbers are almost or exactly equal
			e = d
			if sum, err := d.Add(Decimal{lo: 1, exp: d.exp}); err == nil {
				e = sum
			}
		}
		if got, want := d.Cmp(e), d.rat().Cmp(e.rat()); got != want {
			t.Fatalf("%v Cmp %v = %d, want %d", d, e, got, want)
		}
		if (d == e) != (d.Cmp(e) == 0) {
			t.Fatalf("%v == %v disagrees with Cmp", d, e)
		}
		if d.Neg().rat().Cmp(new(big.Rat).Neg(d.rat())) != 0 || d.Neg().Neg() != d || d.Sign() != d.rat().Sign() {
			t.Fatalf("Neg or Sign of %v", d)
		}
		for _, o := range []Decimal{e, e.Neg()} {
			want := new(big.Rat).Add(d.rat(), o.rat())
			sum, err := d.Add(o)
			if (err == nil) != fits(want) {
				t.Fatalf("%v + %v: error %v, but a sum that fits: %v", d, o, err, fits(want))
			}
			if err == nil && sum.rat().Cmp(want) != 0 {
				t.Fatalf("%v + %v = %v", d, o, sum)
			}
			if err == nil {
				if again, err := Parse(sum.String()); err != nil || again != sum {
					t.Fatalf("%v + %v = %v is not canonical", d, o, sum)
				}
			}
		}
		f, err := strconv.ParseFloat(d.String(), 64)
		if err != nil || d.Float64() != f {
			t.Fatalf("Float64 of %v = %v, want %v", d, d.Float64(), f)
		}
		i, ok := d.Int64()
		if r := d.rat(); ok != (r.IsInt() && r.Num().IsInt64()) || ok && i != r.Num().Int64() {
			t.Fatalf("Int64 of %v = %d, %v", d, i, ok)
		}
	})
}

func TestDecimalOf(t *testing.T) {
	for _, i := range []int64{0, 1, -1, 10, -100, 1e18, math.MaxInt64, math.MinInt64} {
		d := Of(i)
		if got, ok := d.Int64(); !ok || got != i || d.String() != strconv.FormatInt(i, 10) {
			t.Errorf("DecimalOf(%d) = %v", i, d)
		}
	}
}

func TestParseDecimal_Refuses(t *testing.T) {
	nines := strings.Repeat("9", 38)
	for text, want := range map[string]string{
		"": "not a number", "-": "not a number", ".": "not a number", "1e": "not a number", "1e+": "not a number",
		"1.2.3": "not a number", "0x10": "not a number", " 1": "not a number", "1 ": "not a number", "NaN": "not a number",
		"Infinity": "not a number", "1_000": "not a number", "--1": "not a number", "٣": "not a number",
		nines + "1":              "38 significant digits",
		nines + "9x":             "not a number",
		"0." + nines + "9":       "38 significant digits",
		"1e126":                  "too large",
		"1e99999999999999999999": "too large",
		"-1e-131":                "too close to zero",
		"9.9e-131":               "too close to zero",
	} {
		if d, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %v, %v; want an error with %q", text, d, err, want)
		}
	}
}

func TestParseDecimal_Takes(t *testing.T) {
	nines := strings.Repeat("9", 38)
	for text, want := range map[string]string{
		"0": "0", "-0": "0", "000": "0", "0e999999999999": "0", "0.000": "0", "+7": "7", "007": "7", "1.50": "1.5",
		".5": "0.5", "5.": "5", "1e3": "1000", "-12.5E-1": "-1.25", "1E-2": "0.01",
		nines + "000":                           nines + "000",
		"9." + nines[1:] + "e125":               nines + strings.Repeat("0", 88),
		"000" + nines + ".000":                  nines,
		"1e-130":                                "0." + strings.Repeat("0", 129) + "1",
		"0." + strings.Repeat("0", 129) + nines: "0." + strings.Repeat("0", 129) + nines,
	} {
		if d, err := Parse(text); err != nil || d.String() != want {
			t.Errorf("Parse(%q) = %v, %v; want %s", text, d, err, want)
		}
	}
}

func TestDecimal_Append(t *testing.T) {
	d, _ := Parse("-12.5")
	if got := string(d.Append([]byte("x="))); got != "x=-12.5" {
		t.Errorf("Append = %q", got)
	}
}

func TestParseDecimal_DoesNotAllocate(t *testing.T) {
	texts := [][]byte{[]byte("12345"), []byte("-0.000123e-7"), []byte("99999999999999999999999999999999999999")}
	if n := testing.AllocsPerRun(100, func() {
		for _, b := range texts {
			if _, err := Parse(b); err != nil {
				t.Fatal(err)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzParseDecimal(f *testing.F) {
	for _, s := range []string{"0", "-1.5e3", "1e125", "1e-130", "+.5", "9e999999999999", "00000.1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := Parse(s)
		if err != nil {
			if d != (Decimal{}) {
				t.Fatalf("%q: %v beside %v", s, d, err)
			}
			return
		}
		if len(s) > 400 || strings.Contains(strings.ToLower(s), "e") && len(s) > 180 {
			return // big.Rat would take too long
		}
		if i := strings.IndexAny(s, "eE"); i >= 0 {
			if e, err := strconv.Atoi(s[i+1:]); err != nil || e > 600 || e < -600 {
				return
			}
		}
		if r, ok := new(big.Rat).SetString(s); !ok || d.rat().Cmp(r) != 0 {
			t.Fatalf("%q was read as %v", s, d)
		}
		if again, err := Parse(d.String()); err != nil || again != d {
			t.Fatalf("%q: %v was read back as %v, %v", s, d, again, err)
		}
	})
}

func BenchmarkParseDecimal(b *testing.B) {
	for _, s := range []string{"7", "1234.56", "99999999999999999999999999999999999999"} {
		text := []byte(s)
		b.Run(strconv.Itoa(len(s)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestDecimal_Digits(t *testing.T) {
	for _, test := range []struct {
		text, digits string
		exponent     int
	}{
		{"0", "", 0}, {"-0.00", "", 0}, {"1", "1", 1}, {"100", "1", 3}, {"-120", "12", 3}, {"10.50", "105", 2}, {"0.1", "1", 0},
		{"-0.00120", "12", -2}, {"1e125", "1", 126}, {"1e-130", "1", -129}, {"12345678901234567890123456789012345678", "12345678901234567890123456789012345678", 38},
	} {
		d, err := Parse(test.text)
		if err != nil {
			t.Fatal(err)
		}
		if digits, exponent := d.Digits(); digits != test.digits || exponent != test.exponent {
			t.Errorf("%s is %q and %d, want %q and %d", test.text, digits, exponent, test.digits, test.exponent)
		}
	}
}
