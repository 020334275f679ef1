package replay

import (
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// shopRows returns the rows that the views of the shop must have, by key, computed in plain Go. If several users claim
// a row, it returns all rows that are allowed.
func shopRows(cs []change) map[string][]string {
	all := make(map[string][]string)
	add := func(row oracleItem) {
		name := canonical(oracleItem{"PK": row["PK"], "SK": row["SK"]})
		all[name] = append(all[name], canonical(row))
	}
	for key, c := range last(cs) {
		if c.new == nil {
			continue
		}
		pk, sk := text(c.keys["PK"]), text(c.keys["SK"])
		if mail := text(c.new["Email"]); sk == "PROFILE" && mail != "" {
			add(oracleItem{"PK": str("EMAIL#" + strings.ToLower(mail)), "SK": str("USER"), "user": c.keys["PK"]})
		}
		if id, ok := strings.CutPrefix(sk, "ORDER#"); ok {
			ordersRows(key, strings.TrimPrefix(pk, "USER#"), id, c.new, add)
		}
	}
	return all
}

// ordersRows adds the rows of an order.
func ordersRows(key, user, id string, o oracleItem, add func(oracleItem)) {
	if status, at := text(o["Status"]), text(o["CreatedAt"]); status != "" && at != "" {
		day, err := time.Parse(time.RFC3339, at)
		if err != nil {
			panic(err)
		}
		h := fnv.New64a()
		_, _ = h.Write([]byte(key))
		add(oracleItem{
			"PK": str(fmt.Sprintf("STATUS#%s#%d", status, h.Sum64()%10)), "SK": str(day.UTC().Format(time.DateOnly) + "#" + id),
			"kind": str("order"), "customer": str(user), "total": o["Total"],
		})
	}
	amount := maps.Clone(o)
	amount["PK"], amount["SK"] = str("USER#"+user), str("AMOUNT#"+sortable(text(o["Total"]))+"#"+id)
	add(amount)
	_, lines := untag(o["Lines"])
	for i, e := range lines.([]any) {
		_, line := untag(e)
		m := line.(map[string]any)
		add(oracleItem{"PK": str("SKU#" + text(m["sku"])), "SK": str(fmt.Sprintf("%s#%d", id, i)), "qty": m["qty"]})
	}
}

// sortable returns the sortable text of an amount of at least 1, without an exponent.
func sortable(amount string) string {
	whole, fraction, _ := strings.Cut(amount, ".")
	return fmt.Sprintf("2%d%s-", 500+len(whole), strings.TrimRight(whole+fraction, "0"))
}

// completedOrders returns the documents of the completed orders.
func completedOrders(cs []change) map[string]string {
	all := make(map[string]string)
	for key, c := range last(cs) {
		if strings.HasPrefix(text(c.keys["SK"]), "ORDER#") && text(c.new["Status"]) == "completed" {
			doc := map[string]any{"_tw": map[string]any{"version": c.version, "by": "shop"}}
			for name, v := range c.new {
				doc[name] = plain(v, exactNumber)
			}
			all[documentID(key)] = document(doc)
		}
	}
	return all
}

// kinds has the kinds of items of the shop, by the first parts of the partition key and of the sort key.
var kinds = map[[2]string]string{
	{"USER", "PROFILE"}: "User", {"USER", "SESSION"}: "Session", {"USER", "ORDER"}: "Order", {"PRODUCT", "META"}: "Product", {"PRODUCT", "REVIEW"}: "Review",
}

// deletedItems returns each deleted item with masks, as it was before its last deletion, by the path of its object.
func deletedItems(cs []change) map[string]string {
	newest, all := make(map[string]string), make(map[string]string)
	for _, c := range cs {
		if !c.gone || c.version < newest[c.key] {
			continue
		}
		newest[c.key] = c.version
		pk, sk := text(c.keys["PK"]), text(c.keys["SK"])
		first, _, _ := strings.Cut(pk, "#")
		second, _, _ := strings.Cut(sk, "#")
		old := make(map[string]any)
		for name, v := range c.old {
			old[name] = plain(v, allDigits)
			if name == "Email" || name == "Address" {
				old[name] = "masked"
			}
		}
		all["archive/"+kinds[[2]string{first, second}]+"/"+pk+"/"+sk+".json"] = c.version + " " + document(old)
	}
	return all
}

// deletedObjects reads the objects of deleted items by their paths.
func deletedObjects(t *testing.T, root string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(filepath.Join(root, "archive"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var object struct {
			Version string
			Old     map[string]any
		}
		decode(t, b, &object)
		name, err := filepath.Rel(root, path)
		all[filepath.ToSlash(name)] = object.Version + " " + mask.ReplaceAllString(document(object.Old), `"masked"`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// storedDocuments reads an index. It removes the births of the documents, because each folder has its own.
func storedDocuments(t *testing.T, out, index string) map[string]string {
	t.Helper()
	s := newState()
	for _, line := range query(t, out, "search", index) {
		var d struct {
			ID       string
			Document map[string]any
		}
		decode(t, line, &d)
		if own, ok := d.Document["_tw"].(map[string]any); ok {
			if birth, _ := own["birth"].(string); len(birth) != 16 {
				t.Errorf("document %s has the birth %v", d.ID, own["birth"])
			}
			delete(own, "birth") // each folder has its own
		}
		s.put(t, documents, d.ID, document(d.Document))
	}
	return s[documents]
}
