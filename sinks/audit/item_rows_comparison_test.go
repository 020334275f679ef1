package audit_test

import (
	"fmt"
	"testing"
)

// lineShop has two views with a row for each element. The attribute at of the view tags cannot be derived from the
// item.
const lineShop = `
version: 1
name: shop
source: {table: shop}
sinks:
  lines:
    view:
      table: views
      for_each: {path: Lines, by: sku}
      when: each.qty > 0
      key: {PK: 'SKU#{@each}', SK: 'L#{@key}'}
      attributes: {qty: '{each.qty}', name: '{Name}'}
  tags:
    view:
      table: views
      for_each: Tags
      key: {PK: 'TAG#{@each}', SK: 'T#{@key}'}
      attributes: {name: '{Name}', at: '{@time}'}
`

func order(name string, lines ...string) string {
	list := ""
	for i, sku := range lines {
		if i > 0 {
			list += ","
		}
		list += fmt.Sprintf(`{"M":{"sku":{"S":%q},"qty":{"N":"%d"}}}`, sku, i+1)
	}
	return fmt.Sprintf(`"Name":{"S":%q},"Lines":{"L":[%s]},"Tags":{"SS":["b","a"]}`, name, list)
}

// The output of a view with for_each has no differences. The audit finds and repairs each row and each contribution
// that was changed by hand or misses a change.
func TestItemRows(t *testing.T) {
	w := newWorld(t, lineShop)
	w.put("P0", order("zero", "x", "y"))
	w.put("P1", order("one", "x", "y", "z"))
	w.put("P1", order("one", "y", "x"))
	w.put("P2", order("two", "x"))
	w.put("P3", order("three", "x"))
	w.put("P3", "")
	w.put("P4", order("four", "x"))
	w.want("lines")
	w.want("tags")

	w.sql(1, `DELETE FROM "_tw_views" WHERE source = 'P0' AND pk = 'SKU#x'`)
	w.sql(1, `UPDATE "_tw_views" SET item = replace(item, '"one"', '"uno"') WHERE source = 'P1' AND pk = 'SKU#x'`)
	w.sql(1, `UPDATE "_tw_views" SET pk = 'SKU#w', item = replace(item, 'SKU#x', 'SKU#w') WHERE source = 'P2' AND pk = 'SKU#x'`)
	w.sql(1, `DELETE FROM "_tws_contributions" WHERE item = 'P4' AND target = (SELECT id FROM "_tws_targets" WHERE view = 'lines')`)
	w.change("P0", order("zero", "x", "y", "v")) // the sink missed the new line
	w.sql(1, `DELETE FROM "_tw_views" WHERE source = 'P1' AND pk = 'TAG#a'`)
	w.want("lines",
		`missing row PK="SKU#x" SK="L#P0"`,
		`missing row PK="SKU#v" SK="L#P0"`,
		`wrong contribution P0: does not have PK="SKU#v" SK="L#P0"`,
		`wrong row PK="SKU#x" SK="L#P1": name`,
		`missing row PK="SKU#x" SK="L#P2"`,
		`extra row PK="SKU#w" SK="L#P2"`,
		`missing contribution P4`,
	)
	w.want("tags", `missing row PK="TAG#a" SK="T#P1"`)
	w.repaired("lines", "tags")
	w.put("P4", order("four", "w")) // the repaired contribution lists the rows, so this change can remove them
	w.want("lines")
}

// If a change arrives between the audit and the repair, the repair writes nothing, and the output is that of the
// change.
func TestItemRows_MovedBeforeItsRepair(t *testing.T) {
	w := newWorld(t, lineShop)
	w.put("P0", order("zero", "x"))
	w.put("P1", order("one", "x"))
	w.sql(1, `DELETE FROM "_tw_views" WHERE source = 'P0' AND pk = 'SKU#x'`)
	w.movesBeforeRepair("lines", func() { w.put("P0", order("zero", "y")) })
	w.want("lines")
}
