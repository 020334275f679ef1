package audit_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/sinks/audit"
)

// fill creates ten products on three shelves. P3 and P7 have the same name.
func fill(w *world) {
	w.t.Helper()
	var lines []string
	for i := range 10 {
		name := fmt.Sprintf("N%d", i)
		if i == 7 {
			name = "N3"
		}
		lines = append(lines, w.change(fmt.Sprintf("P%d", i), product(i%3, name, i*10)))
	}
	w.send(lines...)
}

func product(shelf int, name string, price int) string {
	return fmt.Sprintf(`"Shelf":{"S":"S%d"},"Name":{"S":%q},"Price":{"N":"%d.50"},"Tags":{"SS":["b","a"]},"Words":{"L":[{"S":"x"},{"S":"y%d"}]}`, shelf, name, price, shelf)
}

var names = []string{"products", "names", "shelves", "tags", "kept", "documents"}

// The audit finds no difference after changes that move items, remove items or compete for a row.
func TestNoDifference(t *testing.T) {
	w := newWorld(t, shop)
	fill(w)
	w.put("P1", product(2, "N1", 11)) // moves to another shelf
	w.put("P3", "")                   // frees the row that P7 waits for
	w.put("P4", product(1, "N5", 40)) // takes the row of P5
	w.put("P8", `"Shelf":{"S":"S1"}`) // no longer has a name, a price and words
	w.put("P9", product(0, "N9", 0)+`,"M":{"M":{"b":{"N":"1.0"},"a":{"NULL":true}}}`)
	w.items["P9"] = `{"PK":{"S":"P9"},` + product(0, "N9", 0) + `,"M":{"M":{"a":{"NULL":true},"b":{"N":"1"}}}}` // in another spelling
	for _, name := range names {
		w.want(name)
	}
}

// The audit finds each row that was changed by hand or misses a change, and no other row.
func TestDifferencesOfRows(t *testing.T) {
	w := newWorld(t, shop)
	fill(w)
	w.sql(1, `DELETE FROM "_tw_views" WHERE source = 'P0' AND view = 'products'`)
	w.sql(1, `UPDATE "_tw_views" SET item = replace(item, '10.5', '10.51') WHERE source = 'P1' AND view = 'products'`)
	w.sql(1, `UPDATE "_tw_views" SET source = 'P99' WHERE source = 'P2' AND view = 'products'`)
	w.sql(1, `UPDATE "_tw_views" SET item = replace(item, '"b"', '"c"') WHERE source = 'P4' AND view = 'products'`)
	w.sql(1, `UPDATE "_tw_views" SET item = replace(item, '"version"', '"colour"') WHERE source = 'P6' AND view = 'products'`)
	w.change("P5", product(0, "N5", 50)) // the sink missed the move
	w.change("P8", "")                   // the sink missed the removal
	w.change("P9", product(0, "N9", 1))  // the sink missed the new price
	w.want("products",
		`missing row PK="PRODUCTS#S0" SK="P0"`,
		`wrong row PK="PRODUCTS#S1" SK="P1": price`,
		`wrong row PK="PRODUCTS#S2" SK="P2"`, // it belongs to an item that does not exist
		`wrong row PK="PRODUCTS#S1" SK="P4": tags`,
		`missing row PK="PRODUCTS#S0" SK="P5"`,
		`extra row PK="PRODUCTS#S2" SK="P5"`,
		`wrong row PK="PRODUCTS#S0" SK="P6": colour`,
		`extra row PK="PRODUCTS#S2" SK="P8"`,
		`wrong row PK="PRODUCTS#S0" SK="P9": price`,
		`extra row PK="PRODUCTS#S2" SK="P2"`,
	)
	w.repaired("products")
}

// The audit finds differences of guards, claims, seats and rows of a view in which several items can claim a row.
func TestDifferencesOfClaims(t *testing.T) {
	w := newWorld(t, shop)
	fill(w)
	w.sql(1, `UPDATE "_tws_guards" SET row = 'NAME%23N9,P' WHERE item = 'P0'`)
	w.sql(1, `DELETE FROM "_tws_guards" WHERE item = 'P1'`)
	w.sql(1, `UPDATE "_tw_views" SET item = replace(item, '20.5', '21') WHERE source = 'P2' AND view = 'names'`)
	w.sql(1, `UPDATE "_tws_seats" SET holder = 'P7' WHERE row = 'NAME%23N3,P'`) // P3 comes first and should have the seat
	w.sql(1, `UPDATE "_tw_views" SET source = 'P7', item = replace(item, '30.5', '70.5') WHERE source = 'P3' AND view = 'names'`)
	w.change("P5", product(0, "N50", 50))
	w.change("P8", "")
	w.sql(1, `DELETE FROM "_tw_views" WHERE source = 'P6' AND view = 'names'`)
	w.want("names",
		`wrong guard P0`,
		`missing guard P1`,
		`wrong row PK="NAME#N2" SK="P": price`,
		`wrong seat PK="NAME#N3" SK="P"`,
		`wrong row PK="NAME#N3" SK="P"`,                             // found by P3, which should have the row
		`wrong row PK="NAME#N3" SK="P": attributes of the SQL view`, // found by P7, which should not have the row
		`wrong guard P5`,
		`missing claim PK="NAME#N50" SK="P"`,
		`missing row PK="NAME#N50" SK="P"`,
		`extra claim PK="NAME#N5" SK="P"`,
		`extra row PK="NAME#N5" SK="P"`,
		`missing row PK="NAME#N6" SK="P"`,
		`extra guard P8`,
		`extra claim PK="NAME#N8" SK="P"`,
		`extra row PK="NAME#N8" SK="P"`,
	)
	w.repaired("names")
}

// The audit also finds differences of claims that wait, although no row shows such a claim while the row has an owner.
func TestDifferencesOfWaitingClaims(t *testing.T) {
	for name, c := range map[string]struct {
		sql  string
		want []string
	}{
		"changed": {`UPDATE "_tws_claims" SET attributes = replace(attributes, '70.5', '70') WHERE item = 'P7'`, []string{`wrong claim PK="NAME#N3" SK="P": price`}},
		"removed": {`DELETE FROM "_tws_claims" WHERE item = 'P7'`, []string{`missing claim PK="NAME#N3" SK="P"`}},
		"added": {`INSERT INTO "_tws_claims" SELECT target, row, 'P5', version, time, attributes FROM "_tws_claims" WHERE item = 'P7'`,
			[]string{`extra claim PK="NAME#N3" SK="P"`}},
		"of an item that is gone": {`INSERT INTO "_tws_claims" SELECT target, row, 'P99', version, time, attributes FROM "_tws_claims" WHERE item = 'P7'`,
			[]string{`extra claim PK="NAME#N3" SK="P"`}},
		"moved": {`UPDATE "_tws_claims" SET row = 'NAME%23N4,P' WHERE item = 'P7'`,
			[]string{`extra claim PK="NAME#N4" SK="P"`, `missing claim PK="NAME#N3" SK="P"`}},
		"of a guard that forgot it": {`UPDATE "_tws_guards" SET row = '' WHERE item = 'P7'`, []string{`wrong guard P7`}},
	} {
		for _, rule := range []string{"keep_first", "dead_letter"} { // dead letters of collisions hide no difference
			t.Run(name+", "+rule, func(t *testing.T) {
				w := newWorld(t, strings.ReplaceAll(shop, "keep_first", rule))
				fill(w)
				w.sql(1, c.sql)
				w.want("names", c.want...)
				w.repaired("names")
				w.put("P3", "")
				w.want("names") // P7 has the row now, as it should
			})
		}
	}
}

// A seat says which item owns a row. The audit finds damaged seats. Both a repair and the next write of the row correct
// a damaged seat.
func TestDifferencesOfOwners(t *testing.T) {
	for name, c := range map[string]struct {
		sql  string
		want []string
	}{
		"removed":                    {`DELETE FROM "_tws_seats" WHERE row = 'NAME%23N3,P'`, []string{`missing seat PK="NAME#N3" SK="P"`}},
		"of nobody":                  {`UPDATE "_tws_seats" SET holder = '' WHERE row = 'NAME%23N3,P'`, []string{`missing seat PK="NAME#N3" SK="P"`}},
		"of an item without a claim": {`UPDATE "_tws_seats" SET holder = 'P5' WHERE row = 'NAME%23N3,P'`, []string{`missing seat PK="NAME#N3" SK="P"`}},
		"of the item that waits":     {`UPDATE "_tws_seats" SET holder = 'P7' WHERE row = 'NAME%23N3,P'`, []string{`wrong seat PK="NAME#N3" SK="P"`}},
		"without claims":             {`INSERT INTO "_tws_seats" SELECT target, 'NAME%23N77,P', revision, 'P9' FROM "_tws_seats" WHERE row = 'NAME%23N3,P'`, []string{`extra seat PK="NAME#N77" SK="P"`}},
		"the owner's claim is gone":  {`DELETE FROM "_tws_claims" WHERE item = 'P3'`, []string{`missing claim PK="NAME#N3" SK="P"`}},
		"the only claim is gone":     {`DELETE FROM "_tws_claims" WHERE item = 'P5'`, []string{`missing claim PK="NAME#N5" SK="P"`}},
	} {
		for _, after := range []string{"repaired", "P3 leaves", "P7 leaves", "P5 leaves"} {
			t.Run(name+", "+after, func(t *testing.T) {
				w := newWorld(t, shop)
				fill(w)
				w.sql(1, c.sql)
				switch item, _, leaves := strings.Cut(after, " "); {
				case !leaves:
					w.want("names", c.want...)
					w.repaired("names")
				case (item == "P5") == (name == "the only claim is gone") && name != "without claims" && (item != "P7" || name != "the owner's claim is gone"):
					w.put(item, "") // this write corrects the damaged row
					w.want("names")
				default:
					w.put(item, "")
				}
				w.put("P5", product(1, "N55", 55))
				for _, item := range []string{"P3", "P7"} {
					if _, there := w.items[item]; there {
						w.put(item, "")
					}
				}
				if name != "without claims" || after == "repaired" {
					w.want("names")
				}
			})
		}
	}
}

// A repair of a guard, a claim or a row restores the item's version, and also the columns that cannot be derived from the
// item.
func TestRepairOfClaimsRestoresVersions(t *testing.T) {
	for name, damage := range map[string]string{
		"the guard of the owner":      `DELETE FROM "_tws_guards" WHERE item = 'P3'`,
		"the guard of one that waits": `DELETE FROM "_tws_guards" WHERE item = 'P7'`,
		"a claim that waits":          `UPDATE "_tws_claims" SET attributes = replace(attributes, '70.5', '70') WHERE item = 'P7'`,
		"the claim of the owner":      `UPDATE "_tws_claims" SET attributes = replace(attributes, '30.5', '30') WHERE item = 'P3'`,
		"the row":                     `UPDATE "_tw_views" SET item = replace(item, '30.5', '30') WHERE source = 'P3' AND view = 'names'`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, shop)
			fill(w)
			stored := func() string {
				return w.text(`SELECT group_concat(text, x'0a') FROM (
SELECT 'guard ' || item || ' ' || row || ' ' || version AS text FROM "_tws_guards"
UNION ALL SELECT 'claim ' || item || ' ' || row || ' ' || version || ' ' || attributes FROM "_tws_claims"
UNION ALL SELECT 'row ' || pk || ' ' || source || ' ' || version || ' ' || item FROM "_tw_views" WHERE view = 'names' ORDER BY 1)`)
			}
			was := stored()
			w.sql(1, damage)
			w.repaired("names")
			if now := regexp.MustCompile("r[0-9]{9}").ReplaceAllString(stored(), ""); now != was {
				t.Errorf("repaired:\n%s\nwas:\n%s", now, was)
			}
		})
	}
}

// With on_collision: last, the times of the stored claims decide which item has a row. A repair does not create a
// missing claim, because the time of the claim cannot be derived from the item.
func TestRepairOfTheLatestClaims(t *testing.T) {
	w := newWorld(t, strings.ReplaceAll(shop, "keep_first", "last"))
	fill(w) // P7 has the row that P3 had
	for name, damage := range map[string]string{
		"the row":                  `UPDATE "_tw_views" SET item = replace(item, '70.5', '70') WHERE source = 'P7' AND view = 'names'`,
		"the claim of the owner":   `UPDATE "_tws_claims" SET attributes = replace(attributes, '70.5', '70') WHERE item = 'P7'`,
		"a claim that waits":       `UPDATE "_tws_claims" SET attributes = replace(attributes, '30.5', '30') WHERE item = 'P3'`,
		"the owner":                `UPDATE "_tws_seats" SET holder = 'P3' WHERE row = 'NAME%23N3,P'`,
		"a guard":                  `DELETE FROM "_tws_guards" WHERE item = 'P7'`,
		"a claim that is too many": `INSERT INTO "_tws_claims" SELECT target, row, 'P5', version, time + 1, attributes FROM "_tws_claims" WHERE item = 'P7'`,
		"a row that is too many":   `INSERT INTO "_tw_views" SELECT 'NAME#N77', sk, version, void, pipeline, view, birth, source, attributes, json_set(item, '$.PK.S', 'NAME#N77') FROM "_tw_views" WHERE pk = 'NAME#N3'`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, strings.ReplaceAll(shop, "keep_first", "last"))
			fill(w)
			w.want("names")
			w.sql(1, damage)
			w.repaired("names")
		})
	}
	w.want("names")
	w.sql(1, `DELETE FROM "_tws_claims" WHERE item = 'P3'`)
	w.want("names", `missing claim PK="NAME#N3" SK="P"`)
	s := w.open(audit.Options{})["names"]
	for _, f := range w.differences(s) {
		if o, err := s.Repair(t.Context(), w.snapshotFor(f), f); err != nil || o.Result != audit.Refused || !strings.Contains(o.Reason, "on_collision: last") {
			t.Errorf("repair of %s %s: %+v, %v", f.Verdict, f.Kind, o, err)
		}
	}
}

// A finding with an unknown kind or verdict, or with an invalid place, cannot be read from a report.
func TestFinding_Refused(t *testing.T) {
	for text, want := range map[string]string{
		`{"kind":"row","place":"A,B","verdict":"wrong"}`:                  "",
		`{"item":"A","verdict":"held","otherwise":"missing"}`:             "",
		`{"kind":"line","place":"A","verdict":"wrong"}`:                   `the kind "line" is unknown`,
		`{"kind":"row","place":"A,B","verdict":"off"}`:                    `the verdict "off" is unknown`,
		`{"kind":"row","place":"A,B","verdict":"held","otherwise":"off"}`: `the verdict "off" is unknown`,
		`{"kind":"row","place":"A,B"}`:                                    `the verdict "" is unknown`,
		`{"kind":"row","place":"%zz,B","verdict":"wrong"}`:                `the place "%zz,B" is not that of a row`,
		`{"kind":"claim","place":"A,%zz P1","verdict":"extra"}`:           `is not that of a claim`,
		`{"kind":"group","place":"","verdict":"wrong"}`:                   `is not that of a group`,
	} {
		var f audit.Finding
		if err := json.Unmarshal([]byte(text), &f); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// If a filter drops an item, a repair removes claims, guards and rows that someone wrote for the item by hand.
func TestRepairOfDroppedItems(t *testing.T) {
	for name, damage := range map[string]string{
		"a claim": `INSERT INTO "_tws_claims" SELECT target, row, 'P5', version, time, attributes FROM "_tws_claims" WHERE item = 'P7'`,
		"a guard": `INSERT INTO "_tws_guards" SELECT target, 'P5', version, void, row, written FROM "_tws_guards" WHERE item = 'P7'`,
		"a row":   `INSERT INTO "_tw_views" SELECT 'NAME#N5', sk, version, void, pipeline, view, birth, 'P5', attributes, json_set(item, '$.PK.S', 'NAME#N5') FROM "_tw_views" WHERE pk = 'NAME#N3'`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, strings.Replace(shop, "on_collision: keep_first", "on_collision: keep_first\n      filters: [{drop: {key_prefix: {PK: P5}}}]", 1))
			fill(w)
			w.want("names")
			w.sql(1, damage)
			w.repaired("names")
		})
	}
}

// The audit compares contributions with items, and groups with contributions.
func TestDifferencesOfAggregates(t *testing.T) {
	w := newWorld(t, shop)
	fill(w)
	target := func(view string) string {
		return `target = (SELECT id FROM "_tws_targets" WHERE view = '` + view + `')`
	}
	w.sql(1, `DELETE FROM "_tws_contributions" WHERE item = 'P0' AND `+target("tags")) // the groups still count the shares
	w.sql(1, `UPDATE "_tws_contributions" SET shares = (SELECT shares FROM "_tws_contributions" c WHERE c.item = 'P2' AND c.`+target("kept")+`) WHERE item = 'P1' AND `+target("kept"))
	w.change("P9", "")
	w.want("tags",
		`missing contribution P0`,
		`extra contribution P9`,
		`wrong group PK="TAG#x" SK="N": _tw, products, shelves`,
		`wrong group PK="TAG#y0" SK="N": _tw, products, shelves`,
	)
	w.want("kept",
		`wrong contribution P1: counts in PK="KEPT#S2" SK="N" and not in PK="KEPT#S1" SK="N"`,
		`skipped contribution P9`, // skipped, because the item may have expired and on_ttl_delete is keep
	)
	w.want("shelves", `extra contribution P9`)
	w.repaired("tags", "kept", "shelves")
}

// The audit finds groups whose values, members or number of shares were changed by hand.
func TestDifferencesOfGroups(t *testing.T) {
	w := newWorld(t, shop)
	fill(w)
	w.want("tags")
	group := func(row string) string {
		return `(SELECT id FROM "_tws_groups" WHERE row = '` + row + `,N')`
	}
	w.sql(1, `UPDATE "_tws_groups" SET shares = shares + 1 WHERE row = 'TAG%23x,N'`)
	w.sql(1, `UPDATE "_tw_views" SET item = replace(item, '"products":{"N":"4"}', '"products":{"N":"5"}') WHERE pk = 'TAG#y0'`)
	w.sql(1, `DELETE FROM "_tws_members" WHERE id = 'P1' AND "group" = `+group("TAG%23y1"))
	w.sql(1, `DELETE FROM "_tw_views" WHERE pk = 'TAG#y2'`)
	w.want("tags",
		`wrong group PK="TAG#x" SK="N": _tw`,
		`wrong group PK="TAG#y0" SK="N": products`,
		`wrong group PK="TAG#y1" SK="N": shelves`,
		`missing group PK="TAG#y2" SK="N"`,
	)
	w.repaired("tags")
}

// If a group is deleted by hand, its members stay. After a repair, no group has members of the deleted group.
func TestDifferencesOfGroupsThatLeaveMembers(t *testing.T) {
	for _, group := range []string{"TAG%23x,N", "TAG%23y2,N"} {
		w := newWorld(t, shop)
		fill(w)
		w.sql(1, `DELETE FROM "_tws_groups" WHERE row = ?`, group)
		w.repaired("tags")
		for i := range 10 {
			w.put(fmt.Sprintf("P%d", i), "")
			w.want("tags")
		}
	}
}

// If the change of an item is a dead letter, the audit reports a difference of this item as held, with a command that
// lists the dead letters.
func TestHeld(t *testing.T) {
	w := newWorld(t, shop)
	fill(w)
	w.put("P1", `"Shelf":{"S":"S1"},"Name":{"S":"N1"},"Price":{"S":"none"}`) // this price cannot be added
	s := w.open(audit.Options{CommandFlags: "-c tablewake.yaml --local out"})["shelves"]
	fs, err := s.Compare(t.Context(), w.snapshotOf("P1"), nil)
	if err != nil || len(fs) != 1 || fs[0].Verdict != audit.Held || fs[0].Underlying != audit.Skipped || fs[0].Command != "tablewake redrive -c tablewake.yaml --local out --list --sink shelves" {
		t.Errorf("an item with a dead letter: %+v, %v", fs, err)
	}
	w.want("products") // the view could write its row
}
