package opensearch

import "github.com/tablewake/tablewake/pipeline/jsoncursor"

// bulkItem is the server's result for one document of a bulk request. It is valid only while visit is called with it.
type bulkItem struct {
	failure
	noop bool // the script did not change the document
}

// parseItems is [parseList] for the answer to a bulk request of n documents.
func parseItems(body []byte, n int, visit func(i int, it *bulkItem)) bool {
	return parseList(body, "items", n, readItem, visit)
}

// parseList reads the list of n elements in the named member of the answer, in one pass. It reads each element with
// read, and calls visit with the result, which is valid only during that call. It returns false if the answer does not
// belong to a request of n documents. It may have called visit before it finds that out.
func parseList[T any](
	body []byte, member string, n int, read func(c *jsoncursor.Cursor) T, visit func(i int, element *T),
) bool {
	c := jsoncursor.New(body)
	seen := 0
	var element T
	for name := range c.Members() {
		if string(name) != member || c.Peek() != '[' {
			continue
		}
		for range c.Elements() {
			element = read(&c)
			if !c.Failed() && seen < n {
				visit(seen, &element)
			}
			seen++
		}
	}
	return !c.Failed() && seen == n
}

// readItem reads one item of the answer: {"index":{"status":200,...}}.
func readItem(c *jsoncursor.Cursor) (it bulkItem) {
	c.Want('{')
	c.Name()
	for name := range c.Members() {
		switch string(name) {
		case "status":
			it.status = c.Integer()
		case "result":
			it.noop = string(c.Text()) == "noop"
		case "error":
			it.read(c)
		}
	}
	c.Want('}')
	return it
}

// read reads an error of the answer. It is an object with a type, a reason and a cause, or a text.
func (f *failure) read(c *jsoncursor.Cursor) {
	if c.Peek() != '{' {
		f.reason = c.Text() // an error text of a proxy, or of AWS
		return
	}
	for name := range c.Members() {
		switch string(name) {
		case "type":
			f.kind = c.Text()
		case "reason":
			f.reason = c.Text()
		case "caused_by":
			var cause failure
			cause.read(c)
			f.causeKind, f.causeReason = cause.causeKind, cause.causeReason
			if f.causeKind == nil {
				f.causeKind, f.causeReason = cause.kind, cause.reason
			}
		}
	}
}

// parse reads the failure of an answer that did not succeed. Parts that the answer lacks stay empty.
func (a answer) parse() failure {
	f := failure{status: a.status}
	c := jsoncursor.New(a.body)
	for name := range c.Members() {
		switch string(name) {
		case "error":
			f.read(&c)
		case "message", "Message": // an error text of AWS, which can refuse a request before the server receives it
			f.reason = c.Text()
		}
	}
	return f
}
