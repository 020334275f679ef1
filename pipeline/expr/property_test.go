package expr

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/item"
)

// These tests draw expressions over numbers and null as trees. Each tree has the source text for CEL, and a function
// that computes its value with math/big.

// operand is a numeric expression. A nil value is null.
type operand struct {
	src   string
	value func() (*big.Rat, error)
}

// question is an expression whose value is true or false.
type question struct {
	src   string
	value func() (bool, error)
}

var errNull = errors.New("null in a sum")

func rational(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic(text)
	}
	return r
}

// spelling draws one of the ways to write the number coefficient times 10 to the exponent.
func spelling(t *rapid.T, coefficient int64, exponent int) string {
	digits := big.NewInt(coefficient).String()
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	forms := []string{fmt.Sprintf("%s%s.0e%d", sign, digits, exponent), fmt.Sprintf("%s%se%+d", sign, digits, exponent), fmt.Sprintf("%s.%s00E%d", sign, digits, exponent+len(digits))}
	plain := digits
	if exponent >= 0 {
		plain += strings.Repeat("0", exponent)
		forms = append(forms, sign+plain)
	} else {
		for len(plain) <= -exponent {
			plain = "0" + plain
		}
		point := len(plain) + exponent
		plain = plain[:point] + "." + plain[point:]
	}
	if strings.Contains(plain, ".") {
		forms = append(forms, sign+plain, sign+plain+"00")
	} else {
		forms = append(forms, sign+plain+".00")
	}
	form := rapid.SampledFrom(forms).Draw(t, "form")
	beyond := len(strings.TrimPrefix(form, "-")) > 18 && !strings.ContainsAny(form, ".eE") // CEL has no literal for it
	if beyond || rapid.Bool().Draw(t, "as number()") {
		return fmt.Sprintf("number(%q)", form)
	}
	return form
}

// attributes are the values that expressions read: numbers close to each other, and null.
type attributes map[string]*big.Rat

func drawNumber(t *rapid.T) (string, *big.Rat) {
	coefficient := rapid.SampledFrom([]int64{0, 1, 10, 105, 1050, 2, -1, -10, -105, 9007199254740993, 9223372036854775807, -9223372036854775808, 333333333333333333}).Draw(t, "coefficient")
	exponent := rapid.SampledFrom([]int{0, 0, -1, -2, 1, -5, 3}).Draw(t, "exponent")
	return spelling(t, coefficient, exponent), rational(fmt.Sprintf("%de%d", coefficient, exponent))
}

func drawOperand(t *rapid.T, have attributes, depth int) operand {
	choices := 3
	if depth > 0 {
		choices = 6
	}
	switch rapid.IntRange(0, choices).Draw(t, "operand") {
	case 0, 1:
		name := rapid.SampledFrom([]string{"A", "B", "C", "Missing"}).Draw(t, "name")
		return operand{"item." + name, func() (*big.Rat, error) { return have[name], nil }}
	case 2, 3:
		src, value := drawNumber(t)
		return operand{src, func() (*big.Rat, error) { return value, nil }}
	case 4:
		x := drawOperand(t, have, depth-1)
		return operand{"-(" + x.src + ")", func() (*big.Rat, error) {
			v, err := x.value()
			if err != nil || v == nil {
				return nil, errors.Join(err, errNull)
			}
			return new(big.Rat).Neg(v), nil
		}}
	default:
		x, y := drawOperand(t, have, depth-1), drawOperand(t, have, depth-1)
		symbol := rapid.SampledFrom([]string{"+", "-"}).Draw(t, "symbol")
		return operand{"(" + x.src + " " + symbol + " " + y.src + ")", func() (*big.Rat, error) {
			v, err := x.value()
			w, err2 := y.value()
			if err != nil || err2 != nil || v == nil || w == nil {
				return nil, errNull
			}
			if symbol == "-" {
				return new(big.Rat).Sub(v, w), nil
			}
			return new(big.Rat).Add(v, w), nil
		}}
	}
}

func drawQuestion(t *rapid.T, have attributes, depth int) question {
	choices := 3
	if depth > 0 {
		choices = 6
	}
	switch rapid.IntRange(0, choices).Draw(t, "question") {
	case 0, 1:
		x, y := drawOperand(t, have, 2), drawOperand(t, have, 2)
		symbol := rapid.SampledFrom([]string{"==", "!=", "<", "<=", ">", ">="}).Draw(t, "symbol")
		return question{x.src + " " + symbol + " " + y.src, func() (bool, error) {
			v, err := x.value()
			w, err2 := y.value()
			if err != nil || err2 != nil {
				return false, errNull
			}
			if v == nil || w == nil {
				same := v == nil && w == nil
				return symbol == "==" && same || symbol == "!=" && !same, nil
			}
			c := v.Cmp(w)
			return map[string]bool{"==": c == 0, "!=": c != 0, "<": c < 0, "<=": c <= 0, ">": c > 0, ">=": c >= 0}[symbol], nil
		}}
	case 2:
		x := drawOperand(t, have, 1)
		list := []operand{drawOperand(t, have, 1), drawOperand(t, have, 1), drawOperand(t, have, 0)}
		return question{fmt.Sprintf("%s in [%s, %s, %s]", x.src, list[0].src, list[1].src, list[2].src), func() (bool, error) {
			v, err := x.value()
			in := false
			for _, y := range list {
				w, err2 := y.value()
				err = errors.Join(err, err2)
				in = in || v == nil && w == nil || v != nil && w != nil && v.Cmp(w) == 0
			}
			return in && err == nil, err
		}}
	case 3:
		x := drawOperand(t, have, 0)
		return question{x.src + " == null", func() (bool, error) {
			v, err := x.value()
			return v == nil, err
		}}
	case 4:
		x := drawQuestion(t, have, depth-1)
		return question{"!(" + x.src + ")", func() (bool, error) {
			v, err := x.value()
			return !v && err == nil, err
		}}
	case 5:
		x, y, z := drawQuestion(t, have, depth-1), drawQuestion(t, have, depth-1), drawQuestion(t, have, depth-1)
		return question{fmt.Sprintf("(%s) ? (%s) : (%s)", x.src, y.src, z.src), func() (bool, error) {
			v, err := x.value()
			switch {
			case err != nil:
				return false, err
			case v:
				return y.value()
			default:
				return z.value()
			}
		}}
	default:
		x, y := drawQuestion(t, have, depth-1), drawQuestion(t, have, depth-1)
		decides := rapid.Bool().Draw(t, "or") // the value of one side that decides the result, whatever the other side is
		symbol := map[bool]string{true: "||", false: "&&"}[decides]
		return question{fmt.Sprintf("(%s) %s (%s)", x.src, symbol, y.src), func() (bool, error) {
			v, err := x.value()
			w, err2 := y.value()
			switch {
			case err == nil && v == decides, err2 == nil && w == decides:
				return decides, nil
			case err != nil || err2 != nil:
				return false, errNull
			default:
				return !decides, nil
			}
		}}
	}
}

func TestNumbersAgainstMathBig(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		have := attributes{}
		var json []string
		for _, name := range []string{"A", "B", "C"} {
			if rapid.IntRange(0, 4).Draw(t, "null") == 0 {
				continue
			}
			_, value := drawNumber(t)
			have[name] = value
			json = append(json, fmt.Sprintf(`%q: {"N": %q}`, name, value.FloatString(8)))
		}
		item, err := item.Parse([]byte("{" + strings.Join(json, ",") + "}"))
		if err != nil {
			t.Fatal(err)
		}
		q := drawQuestion(t, have, 2)
		x, err := Env{}.CompileItem(q.src)
		if err != nil {
			t.Fatalf("%s: %v", q.src, err)
		}
		want, wantErr := q.value()
		got, err := x.Match(item)
		if got != want || (err != nil) != (wantErr != nil) {
			t.Fatalf("%s on {%s} = %v, %v; want %v, %v", q.src, strings.Join(json, ", "), got, err, want, wantErr)
		}
	})
}
