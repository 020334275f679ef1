package expr

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// The direct evaluation returns the same result as CEL, and fails if CEL fails.
func TestDirectAnswersAreCELs(t *testing.T) { rapid.Check(t, directAnswersAreCELs) }

func FuzzDirectAnswersAreCELs(f *testing.F) { f.Fuzz(rapid.MakeFuzz(directAnswersAreCELs)) }

func directAnswersAreCELs(t *rapid.T) {
	src := drawForm(t, 3, "")
	x, err := Env{}.CompileChange(src)
	if err != nil { // the drawn expression costs too much or mixes types, which is rare
		return
	}
	for range 6 {
		old, now, keys := drawImage(t), drawImage(t), drawImage(t)
		c := &record.Change{
			Op:  rapid.SampledFrom([]record.Operation{record.Unknown, record.Insert, record.Modify, record.Remove, record.Snapshot}).Draw(t, "op"),
			Old: parseDrawn(t, old), New: parseDrawn(t, now), Keys: parseDrawn(t, keys),
			Time: rapid.SampledFrom([]time.Time{{}, time.Unix(1767366245, 0).UTC(), time.Unix(1767366245, 1).UTC(), time.Unix(0, 0).UTC()}).Draw(t, "time"),
		}
		if rapid.Bool().Draw(t, "ttl") {
			c.Identity = record.Identity{Type: "Service", PrincipalID: "dynamodb.amazonaws.com"}
		}
		v := newVars()
		v.change, v.old.m, v.new.m, v.keys.m = c, c.Old, c.New, c.Keys
		want, wantErr := x.eval(v)
		got, err := x.Match(c)
		if got != want || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("%s of %v\nold %s\nnew %s\nkeys %s\n= %v, %v; CEL says %v, %v", src, c.Op, old, now, keys, got, err, want, wantErr)
		}
	}
}

// drawForm draws a condition. Most forms have a direct evaluation, and some have none. The parameter it is the variable
// of the loop around the condition.
func drawForm(t *rapid.T, depth int, it string) string {
	draw := func(from ...string) string { return rapid.SampledFrom(from).Draw(t, "form") }
	reading := func() string { return drawReading(t, it) }
	literal := func() string { return drawLiteral(t) }
	symbol := func() string { return draw("==", "!=", "<", "<=", ">", ">=") }
	equal := func() string { return draw("==", "!=") }
	forms := 17
	if depth > 0 {
		forms = 23
	}
	switch rapid.IntRange(0, forms).Draw(t, "which") {
	case 0, 1:
		return fmt.Sprintf("%s %s %s", reading(), equal(), literal())
	case 2:
		return fmt.Sprintf("%s %s %s", literal(), symbol(), reading())
	case 3:
		return fmt.Sprintf("%s %s %s", reading(), symbol(), reading())
	case 4:
		return fmt.Sprintf("%s %s %s", reading(), symbol(), literal())
	case 5:
		return fmt.Sprintf("%s in [%s, %s, %s]", reading(), literal(), literal(), draw(literal(), literal(), reading()))
	case 6:
		return fmt.Sprintf("%s in %s", literal(), reading())
	case 7:
		return fmt.Sprintf("%s.%s(%s)", reading(), draw("startsWith", "endsWith", "contains"), draw(`"a"`, `""`, `"ab"`, `"é"`, reading()))
	case 8:
		return fmt.Sprintf("%s.matches(%s)", reading(), draw(`"^a"`, `"b$"`, `"[0-9]+"`))
	case 9:
		return fmt.Sprintf("size(%s) %s %s", reading(), symbol(), draw("0", "1", "2", "1.5"))
	case 10:
		return fmt.Sprintf("2 %s %s.size()", symbol(), reading())
	case 11:
		return fmt.Sprintf("%s %s null", draw("new", "old", "keys", reading()), equal())
	case 12:
		path := reading()
		if !strings.HasSuffix(path, "]") && strings.Contains(path, ".") {
			return "has(" + path + ")"
		}
		return path
	case 13:
		return draw(`op == "INSERT"`, `"MODIFY" != op`, `op in ["REMOVE", "SNAPSHOT"]`, "ttl", "!ttl", "old == new", "new != keys", "true", "false")
	case 14:
		return fmt.Sprintf(`time %s timestamp("2026-01-02T15:04:05Z")`, symbol())
	case 15:
		return reading()
	case 16: // has no direct evaluation
		return fmt.Sprintf("%s + 1 %s %s", reading(), symbol(), draw("1", "2", reading()))
	case 17: // has no direct evaluation
		return fmt.Sprintf("%s == [%s]", reading(), literal())
	case 18:
		return fmt.Sprintf("!(%s)", drawForm(t, depth-1, it))
	case 19:
		return fmt.Sprintf("(%s) ? (%s) : (%s)", drawForm(t, depth-1, it), drawForm(t, depth-1, it), drawForm(t, depth-1, it))
	case 20:
		inner := "x"
		if it == "x" {
			inner = "y"
		}
		return fmt.Sprintf("%s.%s(%s, %s)", reading(), draw("exists", "all", "exists", "all", "exists_one"), inner, drawForm(t, depth-1, inner))
	case 21:
		return fmt.Sprintf("(%s) || (%s)", drawForm(t, depth-1, it), drawForm(t, depth-1, it))
	default:
		return fmt.Sprintf("(%s) && (%s)", drawForm(t, depth-1, it), drawForm(t, depth-1, it))
	}
}

func drawReading(t *rapid.T, it string) string {
	roots := []string{"new.A", "new.B", "new.C", "old.A", "old.B", "keys.A", `new["a-b"]`}
	if it != "" {
		roots = append(roots, it, it, it)
	}
	path := rapid.SampledFrom(roots).Draw(t, "root")
	for range rapid.SampledFrom([]int{0, 0, 0, 1, 1, 2}).Draw(t, "steps") {
		path += rapid.SampledFrom([]string{".A", ".B", `["A"]`, "[0]", "[1]", "[-1]"}).Draw(t, "step")
	}
	return path
}

func drawLiteral(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		`"a"`, `"ab"`, `""`, `"é\n"`, "1", "0", "-1", "1.5", "1.50", "15e-1", "2", "100u", `number("1E2")`,
		`number("12345678901234567890123456789012345678")`, "true", "false", `b"ab"`, "null",
	}).Draw(t, "literal")
}

// drawImage draws an item, or "" for no image.
func drawImage(t *rapid.T) string {
	if rapid.IntRange(0, 5).Draw(t, "none") == 0 {
		return ""
	}
	return drawMembers(t, 2)
}

func drawMembers(t *rapid.T, depth int) string {
	var members []string
	for _, name := range []string{"A", "B", "C", "a-b"} {
		if rapid.IntRange(0, 3).Draw(t, "absent") > 0 {
			members = append(members, fmt.Sprintf("%q: %s", name, drawValue(t, depth)))
		}
	}
	return "{" + strings.Join(members, ", ") + "}"
}

func drawValue(t *rapid.T, depth int) string {
	choices := 12
	if depth > 0 {
		choices = 16
	}
	switch rapid.IntRange(0, choices).Draw(t, "kind") {
	case 0, 1, 2, 3:
		return fmt.Sprintf(`{"S": %s}`, rapid.SampledFrom([]string{`"a"`, `"ab"`, `""`, `"é\n"`, `"\u0061"`, `"\u00e9\u000a"`, `"b"`, `"\ud83d\ude00"`, `"10"`}).Draw(t, "S"))
	case 4, 5, 6:
		return fmt.Sprintf(`{"N": %q}`, rapid.SampledFrom([]string{"1", "1.0", "0", "-0.0", "-1", "1.5", "15E-1", "2", "100", "1e2", "12345678901234567890123456789012345678"}).Draw(t, "N"))
	case 7, 8:
		return fmt.Sprintf(`{"BOOL": %v}`, rapid.Bool().Draw(t, "BOOL"))
	case 9:
		return `{"NULL": true}`
	case 10:
		return fmt.Sprintf(`{"B": %q}`, rapid.SampledFrom([]string{"YWI=", "YWJj", ""}).Draw(t, "B"))
	case 11:
		return rapid.SampledFrom([]string{`{"SS": ["a"]}`, `{"SS": ["b", "a"]}`, `{"SS": ["\u0061", "b"]}`, `{"BS": ["YWI="]}`}).Draw(t, "set")
	case 12:
		return rapid.SampledFrom([]string{`{"NS": ["1"]}`, `{"NS": ["1.50", "0"]}`, `{"NS": ["0.0", "1.5"]}`}).Draw(t, "NS")
	case 13, 14:
		return fmt.Sprintf(`{"M": %s}`, drawMembers(t, depth-1))
	default:
		var elements []string
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			elements = append(elements, drawValue(t, depth-1))
		}
		return `{"L": [` + strings.Join(elements, ", ") + "]}"
	}
}

func parseDrawn(t *rapid.T, json string) item.Image {
	if json == "" {
		return item.Image{}
	}
	m, err := item.Parse([]byte(json))
	if err != nil {
		t.Fatalf("%s: %v", json, err)
	}
	return m
}

// The usual forms are evaluated directly and without an allocation.
func TestUsualFormsAreDirect(t *testing.T) {
	item := parseImage(t, order)
	before := parseImage(t, `{"PK": {"S": "USER#42"}, "Status": {"S": "open"}, "Int": {"N": "12"}}`)
	c := &record.Change{Op: record.Modify, Keys: item, Old: before, New: item, Time: time.Unix(1767366245, 0)}
	for _, src := range []string{
		`new.Status == "paid" && old.Status != new.Status`,
		`new.Type == "Order" && new.Status in ["paid", "shipped", "completed"]`,
		`new.SK == "PROFILE"`,
		`new["first-name"] == "Ann"`,
		`new.Total > 10.50 || new.Int < old.Int`,
		`old.Int >= 10 && 9 < new.Int`,
		`new.Big > number("12345678901234567890123456789012345677")`,
		`old.Status < new.Status`,
		`new.Gift && !new.Closed`,
		`new.Gift == true`,
		`has(new.Status) && !has(new.Address.Street)`,
		`new.Missing == null && old != null && old != new`,
		`new.Address.City == "Bonn" && new.Lines[0].sku != new.Lines[1].sku`,
		`"a" in new.Tags && !(2 in new.Nums) && "City" in new.Address`,
		`keys.PK.startsWith("USER#") && keys.PK.endsWith("42") && new.PK.contains("#")`,
		`new.PK.matches("^USER#[0-9]+$")`,
		`size(new.Lines) > 1 && new.Type.size() == 5`,
		`new.Lines.exists(l, l.qty > 1.5 && l.sku == "A") && new.Tags.all(tag, tag != "")`,
		`op == "MODIFY" && op in ["INSERT", "MODIFY"] && !ttl`,
		`time >= timestamp("2026-01-01T00:00:00Z")`,
		`new.Gift ? new.Type == "Order" : false`,
		`new.Type == "User" && new.Total + 1 > 5`, // the first operand decides, and is direct
	} {
		x, err := Env{}.CompileChange(src)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if got := x.evalDirect(&subject{change: c}); got == unsure {
			t.Errorf("%s is not asked directly", src)
		}
		if n := testing.AllocsPerRun(100, func() { _, _ = x.Match(c) }); n > 0 {
			t.Errorf("%s: %v allocations", src, n)
		}
		if strings.Contains(src, "old") || strings.Contains(src, "keys") || strings.Contains(src, "op ") || strings.Contains(src, "time ") {
			continue
		}
		i, err := Env{}.CompileItem(strings.ReplaceAll(src, "new", "item"))
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if n := testing.AllocsPerRun(100, func() { _, _ = i.Match(item) }); n > 0 {
			t.Errorf("%s: %v allocations", i, n)
		}
	}
}

// In an expression over an item, the variable of a loop may have a name such as op, new or time.
func TestLoopVariablesThatAreCalledLikeAChange(t *testing.T) {
	item := parseImage(t, order)
	for src, want := range map[string]bool{
		`item.Tags.exists(op, op == "b") && item.Tags.all(op, op in ["a", "b"])`:         true,
		`item.Tags.exists(op, op == "MODIFY")`:                                           false,
		`item.Lines.exists(new, new.sku == "B") && !item.Lines.exists(old, old == null)`: true,
		`item.Lines.all(time, time != null && has(time.sku))`:                            true,
		`item.Address.Geo.exists(ttl, ttl == 1)`:                                         true,
	} {
		x, err := Env{}.CompileItem(src)
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		if got := x.evalDirect(&subject{item: item}); got != answerOf(want) {
			t.Errorf("%s = %v", src, got)
		}
	}
}
