package opensearch

// item is what became of one document of a bulk request; it is valid during a call.
type item struct {
	failure
	noop bool // the script left what is there
}

// parseItems reads the answer to a bulk request of n documents in one pass, and
// calls each with every item in order. It is false where the answer is not one to such a
// request; each may have been called then.
func parseItems(body []byte, n int, each func(i int, it *item)) bool {
	c := cursor{b: body}
	var it item
	seen := 0
	c.want('{')
	for first := true; c.next(&first, '}'); {
		if string(c.name()) != "items" {
			c.skip()
			continue
		}
		c.want('[')
		for first := true; c.next(&first, ']'); {
			if it = c.item(); !c.failed && seen < n {
				each(seen, &it)
			}
			seen++
		}
	}
	return !c.failed && seen == n
}

// item reads {"index":{"status":200,...}}.
func (c *cursor) item() (it item) {
	c.want('{')
	c.name()
	c.want('{')
	for first := true; c.next(&first, '}'); {
		switch string(c.name()) {
		case "status":
			it.status = c.integer()
		case "result":
			it.noop = string(c.string()) == "noop"
		case "error":
			c.failure(&it.failure)
		default:
			c.skip()
		}
	}
	c.want('}')
	return it
}

// failure reads an error: an object with its type, its reason and its cause.
func (c *cursor) failure(f *failure) {
	if c.peek() != '{' {
		f.reason = c.string() // of a proxy, or of AWS
		return
	}
	c.want('{')
	for first := true; c.next(&first, '}'); {
		switch string(c.name()) {
		case "type":
			f.kind = c.string()
		case "reason":
			f.reason = c.string()
		case "caused_by":
			var cause failure
			c.failure(&cause)
			f.cause, f.why = cause.cause, cause.why
			if f.cause == nil {
				f.cause, f.why = cause.kind, cause.reason
			}
		default:
			c.skip()
		}
	}
}

// parseFailure reads the body of an answer that is not ok. Whatever it is not, the
// failure holds nothing of.
func parseFailure(body []byte) (f failure) {
	c := cursor{b: body}
	if c.peek() != '{' {
		return f
	}
	c.want('{')
	for first := true; c.next(&first, '}'); {
		switch string(c.name()) {
		case "error":
			c.failure(&f)
		case "message", "Message": // of AWS, which refuses before the server is asked
			f.reason = c.string()
		default:
			c.skip()
		}
	}
	return f
}
