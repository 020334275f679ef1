package opensearch

import "github.com/tablewake/tablewake/pipeline/jsoncursor"

// bulkItem is the result of one document of a bulk request. It is valid during a call.
type bulkItem struct {
	failure
	noop bool // the script did not change the document
}

// parseItems reads the answer to a bulk request of n documents in one pass, and calls visit with
// every item in order. It returns false if the answer does not belong to such a request; it may
// have called visit before.
func parseItems(body []byte, n int, visit func(i int, it *bulkItem)) bool {
	var it bulkItem
	return parseList(body, "items", n, func(c *jsoncursor.Cursor) { it = readItem(c) }, func(i int) { visit(i, &it) })
}

// parseList reads the n elements of a member of the answer in one pass, and calls visit after
// each. It returns false if the answer does not belong to a request of n documents; it may have
// called visit before.
func parseList(body []byte, member string, n int, read func(c *jsoncursor.Cursor), visit func(i int)) bool {
	c := jsoncursor.New(body)
	seen := 0
	for name := range c.Members() {
		if string(name) != member || c.Peek() != '[' {
			continue
		}
		for range c.Elements() {
			if read(&c); !c.Failed() && seen < n {
				visit(seen)
			}
			seen++
		}
	}
	return !c.Failed() && seen == n
}

// readItem reads {"index":{"status":200,...}}.
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

// read reads an error: an object with its type, its reason and its cause.
func (f *failure) read(c *jsoncursor.Cursor) {
	if c.Peek() != '{' {
		f.reason = c.Text() // text of a proxy, or of AWS
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

// parse reads an answer that is not ok. Missing parts stay empty.
func (a answer) parse() failure {
	f := failure{status: a.status}
	c := jsoncursor.New(a.body)
	for name := range c.Members() {
		switch string(name) {
		case "error":
			f.read(&c)
		case "message", "Message": // text of AWS, which refuses before the request reaches the server
			f.reason = c.Text()
		}
	}
	return f
}
