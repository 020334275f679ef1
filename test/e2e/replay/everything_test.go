package replay

import "fmt"

// everything is a pipeline that keeps everything that a random stream has: a row for each item that never moves, a row
// that moves with a typed status, a document of all attributes, an object for each removed item, and the log.
var everything = pipelineFile{
	text: `
version: 1
name: everything
source: {table: t}
detect:
  completed: {attribute: Status, to: completed}
sinks:
  items:
    view:
      table: rows
      key: {PK: ITEM, SK: '{@key}'}
      attributes: {type: '{Type}', status: '{Status}', total: '{Total}', name: '{Name}', tags: '{Tags}', numbers: '{Numbers}',
        blobs: '{Blobs}', blob: '{Blob}', flag: '{Flag}', nothing: '{Nothing}', empty: '{Empty}', first: '{["first-name"]}', nested: '{Nested}'}
  by_status:
    view:
      table: rows
      when: 'item.Type == "Order"'
      key: {PK: 'STATUS#{Status}', SK: '{@key}'}
      attributes: {price: '{Price}'}
  documents:
    search: {index: documents}
  removed:
    archive: {bucket: everything, layout: per_item, kinds: [user_delete, ttl_delete], key: 'x/{PK}/{SK}/{@version}'}
  log:
    archive: {bucket: everything, prefix: log/}
dead_letters: {bucket: everything, prefix: dead/}
`,
	rows: "rows", index: "documents", bucket: "everything", ofItem: "x/", log: "log/",
	want: wantEverything,
}

// columns has the attributes of the rows that never move, by column.
var columns = map[string]string{"type": "Type", "status": "Status", "total": "Total", "name": "Name", "tags": "Tags", "numbers": "Numbers",
	"blobs": "Blobs", "blob": "Blob", "flag": "Flag", "nothing": "Nothing", "empty": "Empty", "first": "first-name", "nested": "Nested"}

func wantEverything(cs []change) state {
	s := newState()
	for key, c := range last(cs) {
		if c.gone {
			continue
		}
		row := oracleItem{"PK": str("ITEM"), "SK": str(key)}
		for column, attribute := range columns {
			if v, ok := c.new[attribute]; ok && !empty(v) {
				row[column] = v
			}
		}
		s.row(row)
		if status := keyText(c.new["Status"]); status != "" && text(c.new["Type"]) == "Order" {
			row := oracleItem{"PK": str("STATUS#" + status), "SK": str(key)}
			if price, ok := c.new["Price"]; ok {
				row["price"] = price
			}
			s.row(row)
		}
		doc := map[string]any{"_tw": map[string]any{"version": c.version, "by": "everything"}}
		for name, v := range c.new {
			doc[name] = plain(v, exactNumber)
		}
		s[documents][documentID(key)] = document(doc)
	}
	logged(s, cs)
	for _, c := range cs {
		if c.gone {
			s[deleted][c.key+" "+c.version] = archived(c)
		}
	}
	return s
}

func (s state) row(row oracleItem) {
	name := canonical(oracleItem{"PK": row["PK"], "SK": row["SK"]})
	if _, twice := s[rows][name]; twice {
		panic(fmt.Sprintf("the oracle has two rows at %s", name))
	}
	s[rows][name] = canonical(row)
}

// keyText returns the text of a value in a key template. Bytes are base64url there.
func keyText(v any) string {
	if tag, _ := untag(v); tag == "B" {
		return canonicalKeyPart(v)[1:]
	}
	return text(v)
}

// plainKeys returns n keys of a table with a partition key and a sort key.
func plainKeys(n int) []oracleItem {
	keys := make([]oracleItem, n)
	for i := range keys {
		keys[i] = oracleItem{"PK": str(fmt.Sprintf("USER#%03d", i/3)), "SK": str(fmt.Sprintf("ORDER#%d", i%3))}
	}
	return keys
}
