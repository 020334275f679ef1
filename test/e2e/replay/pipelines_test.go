package replay

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

// fixture is the folder of the shop.
const fixture = "../../fixtures/shop/"

// shop is a pipeline that brings the fixture to every kind of sink in which items do not depend on each other.
var shop = pipelineFile{
	path: "testdata/shop.yaml",
	rows: "shop-views", index: "products", bucket: "shop-archive", ofItem: "archive/", log: "changes/",
	want: wantShop,
}

// shopStream returns the lines of the fixture.
func shopStream(t *testing.T) [][]byte {
	t.Helper()
	b, err := os.ReadFile(fixture + "stream.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(bytes.TrimSpace(b), []byte("\n"))
}

// understood returns the changes of lines that are all sound.
func understood(t *testing.T, lines [][]byte) []change {
	t.Helper()
	cs, err := readChanges(lines)
	if err != nil {
		t.Fatal(err)
	}
	return cs
}

// wantShop returns the state that the configuration of the shop must produce, computed in plain Go.
func wantShop(cs []change) state {
	s := newState()
	for key, c := range last(cs) {
		if c.gone || c.new == nil {
			continue
		}
		switch text(c.new["Type"]) {
		case "Order":
			if row, ok := orderRow(key, c.new); ok {
				s[rows][canonical(oracleItem{"PK": row["PK"], "SK": row["SK"]})] = canonical(row)
			}
		case "Product":
			s[documents][documentID(key)] = product(c)
		}
	}
	logged(s, cs)
	for _, c := range cs {
		if c.gone {
			s[deleted][c.key+" "+c.version] = archived(c)
		}
	}
	return s
}

func orderRow(key string, o oracleItem) (oracleItem, bool) {
	status, at := text(o["Status"]), text(o["CreatedAt"])
	if status == "" || at == "" {
		return nil, false
	}
	day, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return nil, false
	}
	row := oracleItem{
		"PK":   str("STATUS#" + status),
		"SK":   str(day.UTC().Format(time.DateOnly) + "#" + key),
		"kind": str("order"),
	}
	if _, user, _ := strings.Cut(text(o["PK"]), "USER#"); user != "" {
		row["customer"] = str(user)
	}
	if total, ok := o["Total"]; ok && !empty(total) {
		row["total"] = total
	}
	return row, true
}

// text returns the text of a value in a template. A type other than S and N, and a missing value, have no text.
func text(v any) string {
	switch tag, x := untag(v); tag {
	case "S":
		return x.(string)
	case "N":
		return decimal(x.(string))
	}
	return ""
}

func str(s string) any { return map[string]any{"S": s} }

// empty reports whether a row leaves out this value.
func empty(v any) bool {
	tag, x := untag(v)
	return tag == "NULL" || (tag == "S" || tag == "B") && x == ""
}

func product(c change) string {
	doc := map[string]any{"_tw": map[string]any{"version": c.version, "by": "shop"}}
	if v, ok := c.new["Name"]; ok {
		doc["title"] = plain(v, exactNumber)
	}
	if v, ok := c.new["Price"]; ok {
		doc["Price"] = plain(v, allDigits)
	}
	if v, ok := c.new["Tags"]; ok {
		doc["Tags"] = plain(v, exactNumber)
	}
	return document(doc)
}

// logged adds every version of every item to the log once.
func logged(s state, cs []change) {
	for _, c := range cs {
		s[history][c.key+" "+c.version] = archived(c)
	}
}

// orders returns the number of completed orders. Each version counts once.
func orders(cs []change) int64 {
	versions := make(map[string]bool)
	for _, c := range cs {
		if !c.gone && c.new != nil && text(c.new["Type"]) == "Order" &&
			text(c.new["Status"]) == "completed" && text(c.old["Status"]) != "completed" {
			versions[c.key+c.version] = true
		}
	}
	return int64(len(versions))
}
