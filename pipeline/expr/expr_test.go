package expr

import (
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// order is an item with every attribute type.
const order = `{
	"PK": {"S": "USER#42"}, "Type": {"S": "Order"}, "Status": {"S": "paid"}, "Empty": {"S": ""}, "Null": {"NULL": true},
	"Int": {"N": "10"}, "Total": {"N": "10.5"}, "Cents": {"N": "0.1"}, "Neg": {"N": "-3.25"}, "Zero": {"N": "0"},
	"Max": {"N": "9223372036854775807"}, "Over": {"N": "9223372036854775808"}, "Big": {"N": "12345678901234567890123456789012345678"},
	"Gift": {"BOOL": true}, "Closed": {"BOOL": false}, "Blob": {"B": "YWJj"}, "first-name": {"S": "Ann"}, "a.b": {"N": "7"},
	"Address": {"M": {"City": {"S": "Bonn"}, "Geo": {"L": [{"N": "1"}, {"M": {"lat": {"N": "2.50"}}}]}, "in": {"S": "x"}}},
	"Lines": {"L": [{"M": {"sku": {"S": "A"}, "qty": {"N": "2"}}}, {"M": {"sku": {"S": "B"}, "qty": {"N": "0.5"}}}]},
	"Tags": {"SS": ["a", "b"]}, "Nums": {"NS": ["1", "2.50"]}, "Bins": {"BS": ["YWJj"]}, "NoList": {"L": []}, "NoMap": {"M": {}},
	"At": {"N": "1767366245"}, "When": {"S": "2026-01-02T15:04:05Z"}, "Digits": {"S": "10.50"}
}`

func parseImage(t testing.TB, json string) item.Image {
	t.Helper()
	m, err := item.Parse([]byte(json))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestItem(t *testing.T) {
	item := parseImage(t, order)
	for _, tt := range []struct {
		src  string
		want bool
	}{
		// values
		{`item.Type == "Order"`, true},
		{`item.Type == 'Order' && item.Status in ["paid", "shipped"]`, true},
		{`item.Status in ["shipped"]`, false},
		{`item.Status != "paid"`, false},
		{`item.Gift`, true},
		{`item.Closed`, false},
		{`!item.Closed && item.Gift`, true},
		{`item.Gift == true`, true},
		{`item.Gift ? item.Closed : item.Gift`, false},
		{`item.Blob == b"abc"`, true},
		{`item.Blob < b"abd"`, true},
		{`size(item.Blob) == 3`, true},
		{`item.Empty == ""`, true},
		{`item.Status > "open" && item.Status <= "paid"`, true},
		// names that are not CEL identifiers
		{`item["first-name"] == "Ann"`, true},
		{`item["a.b"] == 7`, true},
		{`item["Type"] == "Order"`, true},
		{`item.Address["in"] == "x"`, true},
		{`item["nothing"] == null`, true},
		// an absent attribute is null
		{`item.Missing == null`, true},
		{`null == item.Missing`, true},
		{`item.Missing != null`, false},
		{`item.Type != null`, true},
		{`item.Null == null`, true},
		{`item.Missing == item.Null`, true},
		{`item.Missing == item.Type`, false},
		{`item.Missing == ""`, false},
		{`item.Missing == 0`, false},
		{`item.Missing == false`, false},
		{`item.Missing != "x"`, true},
		{`item.Missing in ["x", "y"]`, false},
		{`item.Missing in [null, "y"]`, true},
		{`item.Missing.City == null`, true},
		{`item.Missing[0].x["y"] == null`, true},
		{`item.Null.City == null`, true},
		{`item.Address.Street == null`, true},
		{`item.Address.Street.Number == null`, true},
		{`item.Lines[2] == null`, true},
		{`item.Lines[2].sku == null`, true},
		{`item.Lines[-1] == null`, true},
		{`item == null`, false},
		{`item != null`, true},
		// ordering against null is false, on either side
		{`item.Missing < 5`, false},
		{`item.Missing <= 5`, false},
		{`item.Missing > 5`, false},
		{`item.Missing >= 5`, false},
		{`5 < item.Missing`, false},
		{`5 >= item.Missing`, false},
		{`item.Missing < item.Null`, false},
		{`item.Missing <= item.Missing`, false},
		{`item.Missing < "x" || "x" < item.Missing`, false},
		{`!(item.Missing > 5)`, true},
		// all other functions of null return false, 0 or, for all(), true
		{`"a" in item.Missing`, false},
		{`item.Missing.exists(x, x == 1)`, false},
		{`item.Missing.all(x, x == 1)`, true},
		{`size(item.Missing) == 0 && item.Missing.size() == 0`, true},
		{`item.Missing.startsWith("a") || item.Missing.endsWith("a") || item.Missing.contains("a") || item.Missing.matches("a")`, false},
		{`item.Type.startsWith(item.Missing)`, false},
		// has
		{`has(item.Type)`, true},
		{`has(item.Missing)`, false},
		{`has(item.Null)`, true},
		{`has(item.Address.City) && !has(item.Address.Street) && !has(item.Missing.City)`, true},
		{`has(item.Lines[0].sku) && !has(item.Lines[9].sku)`, true},
		// an N that fits int64 is an int, any other is an exact decimal; literals are exact too
		{`item.Int == 10`, true},
		{`item.Int == 10.0`, true},
		{`item.Int == 1e1 && item.Int == 1.0E+1 && item.Int == 100e-1`, true},
		{`item.Int == 10u`, true},
		{`item.Int != 10.00000000000000000000000000001`, true},
		{`item.Total == 10.50`, true},
		{`10.50 == item.Total`, true},
		{`item.Total == 10.5 && item.Total != 10.51`, true},
		{`item.Cents == 0.1`, true},
		{`item.Cents == 0.1000000000000000055511151231257827`, false}, // the float64 nearest to 0.1
		{`item.Cents == .1`, true},
		{`item.Neg == -3.25 && -3.25 == item.Neg && item.Neg == -  3.25`, true},
		{`item.Neg == -(3.25) && -item.Neg == 3.25`, true},
		{`item.Neg < -3.2 && item.Neg > -3.3`, true},
		{`item.Total in [1, 10.50]`, true},
		{`item.Total in [1.5, "x", 10.5, item.Int]`, true},
		{`item.Total in [item.Total]`, true},
		{`item.Int in [10.0]`, true},
		{`item.Int in [1, 2, 3]`, false},
		{`10.50 in [item.Total]`, true},
		{`2.5 in item.Nums && 1 in item.Nums && 1.0 in item.Nums`, true},
		{`2 in item.Nums`, false},
		{`item.Total > 10 && item.Total < 11`, true},
		{`10.49 < item.Total && 10.51 > item.Total`, true},
		{`item.Int < item.Total && item.Total > item.Int`, true},
		{`item.Int <= 10.0 && item.Int >= 10`, true},
		{`(item.Gift ? 10.50 : 1.5) == item.Total`, true},
		{`item.Closed ? false : (item.Gift ? item.Total == 10.50 : false)`, true},
		{`[1, 10.50][1] == item.Total`, true},
		{`{"x": 10.50}.x == item.Total`, true},
		{`item.Max == 9223372036854775807`, true},
		{`item.Over == 9223372036854775808.0`, true},
		{`item.Over > item.Max && item.Max < item.Over && item.Max != item.Over`, true},
		{`item.Over == item.Max + 1`, true},
		{`item.Big == number("12345678901234567890123456789012345678")`, true},
		{`number("12345678901234567890123456789012345678") == item.Big`, true},
		{`item.Big > number("12345678901234567890123456789012345677")`, true},
		{`item.Big in [number("1E2"), number("12345678901234567890123456789012345678")]`, true},
		{`number("10.50") == item.Total`, true},
		{`number(item.Digits) == item.Total && number(item.Int) == item.Int`, true},
		{`item.Total == item.Lines[0].qty`, false},
		{`item.Address.Geo[1].lat == 2.5`, true},
		{`item.Zero == 0.0 && item.Zero == -0.0`, true},
		// arithmetic
		{`item.Total + 0.1 == 10.6`, true},
		{`item.Total - item.Int == 0.5`, true},
		{`item.Cents + item.Cents + item.Cents == 0.3`, true},
		{`-item.Total == 0 - 10.5`, true},
		{`item.Type + "!" == "Order!"`, true},
		// values of different types are not equal
		{`item.Type == 10`, false},
		{`item.Int == "10"`, false},
		{`item.Gift == 1`, false},
		// maps, lists, sets
		{`item.Address.City == "Bonn"`, true},
		{`item.Lines[1].sku == "B"`, true},
		{`item.Lines[size(item.Lines) - 1].sku == "B"`, true},
		{`"City" in item.Address && !("Street" in item.Address)`, true},
		{`"a" in item.Tags`, true},
		{`"c" in item.Tags`, false},
		{`1 in item.Tags`, false},
		{`b"abc" in item.Bins`, true},
		{`item.Tags == ["a", "b"] && item.Tags == ["b", "a"] && ["b", "a"] == item.Tags`, true},
		{`item.Tags == ["a"] || item.Tags == ["a", "c"] || item.Tags == "a"`, false},
		{`item.Nums == [2.5, 1]`, true},
		{`item.Address.Geo[0] == 1 && item.NoList == [] && item.NoMap == {}`, true},
		{`item.Lines == [{"qty": 2, "sku": "A"}, {"sku": "B", "qty": 0.50}]`, true},
		{`item.Lines[0] == {"qty": 2, "sku": "A"} && {"qty": 2, "sku": "A"} == item.Lines[0]`, true},
		{`item.Lines[0] == {"qty": 3, "sku": "A"} || item.Lines[0] == {"qty": 2} || item.Lines[0] == {"qty": 2, "x": 1}`, false},
		{`item.Lines == item.Lines && item.Lines[0] != item.Lines[1]`, true},
		{`size(item.Tags) == 2 && size(item.Lines) == 2 && item.Address.size() == 3 && size(item.Type) == 5`, true},
		{`item.Lines.exists(l, l.qty > 1.5 && l.sku == "A")`, true},
		{`item.Lines.all(l, l.qty > 0.5)`, false},
		{`item.Lines.exists_one(l, l.qty < 1)`, true},
		{`item.Lines.map(l, l.sku) == ["A", "B"]`, true},
		{`item.Lines.filter(l, l.qty > 1).size() == 1`, true},
		{`item.Address.exists(k, k == "City")`, true},
		{`item.Tags.exists(x, x == "b") && item.Nums.exists(n, n == 2.5)`, true},
		{`item.Lines.exists(l, l.nothing == null)`, true},
		{`item.Lines + [1] == [item.Lines[0], item.Lines[1], 1]`, true},
		{`item.Blob in ["a", "b"] || item.Tags in ["a"] || item.Address in [1, 2] || item.Lines in []`, false},
		{`item.Blob in [b"x", b"abc"] && item.Tags in [["b", "a"]] && item.Gift in [1, true]`, true},
		// text
		{`item.PK.startsWith("USER#") && item.PK.endsWith("42") && item.PK.contains("R#4")`, true},
		{`item.PK.matches("^USER#[0-9]+$")`, true},
		{`item.PK.matches("^ORDER#")`, false},
		{`string(item.Total) == "10.5" && string(item.Int) == "10" && string(item.Gift) == "true"`, true},
		// time
		{`timestamp(item.When) == timestamp(item.At)`, true},
		{`timestamp(item.At) > timestamp("2026-01-01T00:00:00Z")`, true},
		{`timestamp(item.When) - timestamp("2026-01-02T15:00:00Z") < duration("5m")`, true},
		{`timestamp(item.When) + duration("1h") > timestamp(item.When)`, true},
		{`timestamp(item.When).getHours() == 15 && timestamp(item.When).getMonth() == 0`, true},
		// logic
		{`item.Gift || item.Type > 5`, true}, // an error on the side that does not decide is ignored
		{`item.Type > 5 || item.Gift`, true},
		{`item.Closed && item.Type > 5`, false},
	} {
		x, err := Env{}.CompileItem(tt.src)
		if err != nil {
			t.Errorf("%s: %v", tt.src, err)
			continue
		}
		if got, err := x.Match(item); err != nil || got != tt.want {
			t.Errorf("%s = %v, %v; want %v", tt.src, got, err, tt.want)
		}
		if x.String() != tt.src {
			t.Errorf("String = %q, want %q", x, tt.src)
		}
	}
}

func TestNoItemNeverMatches(t *testing.T) {
	for _, src := range []string{`true`, `item.Missing == null`, `item == null`, `item.Type > 5 || true`} {
		x, err := Env{}.CompileItem(src)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := x.Match(item.Image{}); got || err != nil {
			t.Errorf("%s = %v, %v for an image that does not exist", src, got, err)
		}
	}
}

// A run-time error is permanent and names the expression. It is never taken for false.
func TestRunTimeErrors(t *testing.T) {
	item := parseImage(t, order)
	for _, tt := range []struct{ src, want string }{
		{`item.Type`, "S is not a BOOL"},
		{`item.Missing`, "null is not a BOOL"},
		{`item.Total`, "N is not a BOOL"},
		{`item.Address`, "M is not a BOOL"},
		{`item.Type && item.Gift`, "S is not a BOOL"},
		{`!item.Missing`, "null is not a BOOL"},
		{`item.Missing ? true : false`, "null is not a BOOL"},
		{`item.Gift ? item.Type : false`, "S is not a BOOL"},
		{`item.Type > 5`, "S and N have no order"},
		{`5 <= item.Tags`, "N and SS have no order"},
		{`item.Lines < item.Lines`, "L and L have no order"},
		{`item.Int.startsWith("a")`, "startsWith takes S and S, not N and S"},
		{`item.Tags.contains("a")`, "contains takes S and S, not SS and S"},
		{`item.Blob.matches("a")`, "matches takes S and S, not B and S"},
		{`item.Missing + 1 == 1`, "null and N cannot be added"},
		{`item.Type - 1 == 1`, "S and N cannot be subtracted"},
		{`-item.Type == 1`, "S has no negative"},
		{`item.Big + 0.001 > 0`, "more than 38 digits"},
		{`size(item.Int) == 1`, "N has no size"},
		{`"a" in item.Type`, "S has no members"},
		{`item.Type.exists(x, x == "O")`, "S has no members"},
		{`item.Type.City == "x"`, "S has no members"},
		{`has(item.Type.City)`, "S has no members"},
		{`item.Lines["a"] == 1`, "a list has no member S"},
		{`number(item.Type) == 1`, "the text is not a number"},
		{`number(item.Gift) == 1`, "number takes S"},
		{`number(item.Missing) == 1`, "number takes S, not null"},
		{`string(item.Missing) == ""`, "string takes"},
		{`timestamp(item.Type) > timestamp(item.When)`, "RFC 3339"},
		{`timestamp(item.Gift) > timestamp(item.When)`, "timestamp takes"},
		{`duration(item.Type) > duration("1s")`, "not a duration"},
		{`item.Type.getHours() == 1`, "types that it does not take"},
		{`item.Lines.all(l, l.sku > 1)`, "S and N have no order"},
		{`item.Type > 5 && item.Gift`, "S and N have no order"},
		{`item.Type > 5 || item.Closed`, "S and N have no order"},
	} {
		x, err := Env{}.CompileItem(tt.src)
		if err != nil {
			t.Errorf("%s: %v", tt.src, err)
			continue
		}
		got, err := x.Match(item)
		if got || err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "expression ") {
			t.Errorf("%s = %v, %v; want an error with %q", tt.src, got, err, tt.want)
			continue
		}
		if _, retry := pipeline.Retryable(err); retry || pipeline.IsFatal(err) {
			t.Errorf("%s: %v is not permanent", tt.src, err)
		}
		for _, value := range []string{"paid", "USER", "Bonn", `"Order"`} {
			if strings.Contains(err.Error(), value) {
				t.Errorf("%s: the error shows a value: %v", tt.src, err)
			}
		}
	}
}

func TestChange(t *testing.T) {
	keys, old, now := parseImage(t, `{"PK": {"S": "USER#42"}}`), parseImage(t, `{"PK": {"S": "USER#42"}, "Status": {"S": "paid"}}`), parseImage(t, `{"PK": {"S": "USER#42"}, "Status": {"S": "completed"}, "Total": {"N": "10.5"}}`)
	at := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	ttl := record.Identity{Type: "Service", PrincipalID: "dynamodb.amazonaws.com"}
	modify := &record.Change{Op: record.Modify, Keys: keys, Old: old, New: now, Time: at}
	insert := &record.Change{Op: record.Insert, Keys: keys, New: now, Time: at}
	remove := &record.Change{Op: record.Remove, Keys: keys, Old: now, Identity: ttl}
	for _, tt := range []struct {
		src                    string
		modify, insert, remove bool
	}{
		{`new.Status == "completed" && old.Status != new.Status`, true, true, false},
		{`new.Total > 10.50`, false, false, false},
		{`new.Total == 10.50`, true, true, false},
		{`old == null`, false, true, false},
		{`new == null`, false, false, true},
		{`null != old && null != new`, true, false, false},
		{`old == new`, false, false, false},
		{`old != new`, true, true, true},
		{`old.Status == null`, false, true, false},
		{`old.Missing.x == null`, true, true, true},
		{`has(old.Status)`, true, false, true},
		{`op == "MODIFY"`, true, false, false},
		{`op in ["INSERT", "REMOVE", "SNAPSHOT", "UNKNOWN"]`, false, true, true},
		{`"INSERT" != op`, true, false, true},
		{`keys.PK.startsWith("USER#")`, true, true, true},
		{`ttl`, false, false, true},
		{`!ttl && op != "REMOVE"`, true, true, false},
		{`time >= timestamp("2026-01-02T15:04:05Z")`, true, true, false},
		{`time == null`, false, false, true},
		{`time != null && time.getFullYear() == 2026`, true, true, false},
		{`[op, "x"].exists(o, o == "INSERT")`, false, true, false},
	} {
		x, err := Env{}.CompileChange(tt.src)
		if err != nil {
			t.Errorf("%s: %v", tt.src, err)
			continue
		}
		for c, want := range map[*record.Change]bool{modify: tt.modify, insert: tt.insert, remove: tt.remove} {
			if got, err := x.Match(c); err != nil || got != want {
				t.Errorf("%s of %v = %v, %v; want %v", tt.src, c.Op, got, err, want)
			}
		}
	}
}

func TestWhatAChangeExpressionReads(t *testing.T) {
	for _, tt := range []struct {
		src      string
		old, new bool
		paths    string
		keysOnly bool
	}{
		{`new.Status == "completed" && old.Status != new.Status`, true, true, "Status", false},
		{`new.A.B[0] == 1 || has(new.C.D) || new["first-name"] == "x"`, false, true, "A C first-name", false},
		{`old == null`, true, false, "", false},
		{`old == new`, true, true, "*", false},
		{`keys.PK.startsWith("A") && op == "INSERT" && time > timestamp("2026-01-01T00:00:00Z")`, false, false, "PK", false},
		{`keys.PK.startsWith("A") && keys.SK != "B"`, false, false, "PK SK", true},
		{`op == "REMOVE"`, false, false, "", false},
		{`time > timestamp("2026-01-01T00:00:00Z")`, false, false, "", false},
		{`keys.PK == "A" && !ttl`, false, false, "PK", false},
		{`new.Lines.exists(l, l.qty > new.Min)`, false, true, "Lines Min", false},
	} {
		x, err := Env{}.CompileChange(tt.src)
		if err != nil {
			t.Errorf("%s: %v", tt.src, err)
			continue
		}
		if got := (pipeline.Needs{Old: tt.old, New: tt.new}); x.Requires() != got {
			t.Errorf("%s: Requires = %+v", tt.src, x.Requires())
		}
		if got := strings.Join(x.Paths(), " "); got != tt.paths {
			t.Errorf("%s: Paths = %q, want %q", tt.src, got, tt.paths)
		}
		if x.KeysOnly() != tt.keysOnly {
			t.Errorf("%s: KeysOnly = %v", tt.src, x.KeysOnly())
		}
	}
}

func TestItemPaths(t *testing.T) {
	x, err := Env{}.CompileItem(`item.Type == "Order" && item.Address.City != item.Type`)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(x.Paths(), " "); got != "Type Address" {
		t.Errorf("Paths = %q", got)
	}
}
