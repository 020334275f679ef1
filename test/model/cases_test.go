package model_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/sinks/sinktest"
	"github.com/tablewake/tablewake/test/model"
)

// These tests check the model alone, on cases that were worked out by hand, because it must not have the same errors
// as the product.

// history returns the records of an item. Each step is a state of the item as status, total and mail. The state "" is
// a removal, and "ttl" is an expiry.
func history(steps ...[2]string) []sinktest.Record {
	var records []sinktest.Record
	table := map[string]sinktest.Item{}
	for i, step := range steps {
		key := sinktest.Item{"PK": {"S": step[0]}, "SK": {"S": "x"}}
		r := sinktest.Record{EventName: "MODIFY", Keys: key, Old: table[step[0]], Second: 1767323045, Sequence: fmt.Sprint(100 + i)}
		switch step[1] {
		case "", "ttl":
			r.EventName, r.TTL = "REMOVE", step[1] == "ttl"
			delete(table, step[0])
		default:
			f := strings.Fields(step[1])
			r.New = sinktest.Item{"PK": key["PK"], "SK": key["SK"], "Status": {"S": f[0]}, "Total": {"N": f[1]}, "Email": {"S": f[2]}}
			table[step[0]] = r.New
		}
		records = append(records, r)
	}
	return records
}

func aggregate(keep bool) model.Config {
	return model.Config{Name: "cases", Sinks: []model.Sink{{Name: "by_status", Aggregate: &model.Aggregate{
		Table: "t", PK: model.Template{{Path: []string{"Status"}}}, SK: model.Template{{Literal: "x"}}, Keep: keep,
		Values: []model.Value{{Name: "n", Of: "count"}, {Name: "sum", Of: "sum", Path: []string{"Total"}}, {Name: "lo", Of: "min", Path: []string{"Total"}},
			{Name: "hi", Of: "max", Path: []string{"Total"}}, {Name: "mails", Of: "distinct", Path: []string{"Email"}}},
	}}}}
}

// groups returns the rows of an aggregate: status, count, sum, min, max, distinct.
func groups(s model.State) []string {
	var out []string
	for _, text := range s.Rows {
		row := sinktest.Item{}
		if err := row.Decode([]byte(text)); err != nil {
			panic(fmt.Sprint(text, err))
		}
		line := row.Text("PK")
		for _, name := range []string{"n", "sum", "lo", "hi", "mails"} {
			line += " " + row.Number(name)
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

func TestModel_Aggregates(t *testing.T) {
	for _, c := range []struct {
		name  string
		keep  bool
		steps [][2]string
		want  []string
	}{
		{"two in one group", false, [][2]string{{"a", "paid 1.50 x"}, {"b", "paid 2 x"}}, []string{"paid 2 7/2 3/2 2 1"}},
		{"one moves", false, [][2]string{{"a", "paid 1 x"}, {"b", "paid 2 y"}, {"a", "open 1 x"}}, []string{"open 1 1 1 1 1", "paid 1 2 2 2 1"}},
		{"one changes", false, [][2]string{{"a", "paid 1 x"}, {"b", "paid 2 y"}, {"b", "paid 9e30 x"}}, []string{"paid 2 9000000000000000000000000000001 1 9000000000000000000000000000000 1"}},
		{"a group is emptied", false, [][2]string{{"a", "paid 1 x"}, {"a", ""}}, nil},
		{"an expired item is taken away", false, [][2]string{{"a", "paid 1 x"}, {"a", "ttl"}, {"a", "paid 2 x"}}, []string{"paid 1 2 2 2 1"}},
		{"an expired item is kept", true, [][2]string{{"a", "paid 1 x"}, {"a", "ttl"}, {"a", "paid 2 x"}}, []string{"paid 2 3 1 2 1"}},
		{"a kept one is deleted anew", true, [][2]string{{"a", "paid 1 x"}, {"a", "ttl"}, {"a", "paid 2 y"}, {"a", ""}}, []string{"paid 1 1 1 1 1"}},
		{"a deleted one is not kept", true, [][2]string{{"a", "paid 1 x"}, {"a", ""}}, nil},
	} {
		records := history(c.steps...)
		for _, arrived := range [][]sinktest.Record{records, slices.Concat(records, records), slices.Concat(records, records[len(records)/2:], records)} {
			if got := groups(aggregate(c.keep).Run(arrived)); !slices.Equal(got, c.want) {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
	}
}

func TestModel_SharedRows(t *testing.T) {
	steps := [][2]string{{"a", "paid 1 X"}, {"b", "paid 2 x"}, {"c", "paid 3 y"}, {"d", "paid 4 y"}, {"d", ""}}
	for collision, want := range map[string]string{"keep_first": "x a; y c", "dead_letter": "x a; y c", "last": "x b; y c"} {
		cfg := model.Config{Name: "cases", Sinks: []model.Sink{{Name: "by_mail", View: &model.View{
			Table: "t", Collision: collision, PK: model.Template{{Path: []string{"Email"}, Funcs: []model.Func{{Name: "lower"}}}}, SK: model.Template{{Literal: "x"}},
			Attributes: []model.Column{{Name: "who", Value: model.Template{{Path: []string{"PK"}}}}},
		}}}}
		s := cfg.Run(history(steps...))
		var rows []string
		for _, text := range s.Rows {
			row := sinktest.Item{}
			if err := row.Decode([]byte(text)); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row.Text("PK")+" "+row.Text("who"))
		}
		slices.Sort(rows)
		if got := strings.Join(rows, "; "); got != want {
			t.Errorf("%s: %s, want %s", collision, got, want)
		}
		if collisions := len(s.Letters); (collisions > 0) != (collision == "dead_letter") {
			t.Errorf("%s: %d changes may be in dead letters", collision, collisions)
		}
	}
}
