package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
)

const (
	eventRecords = 100     // the most records of a Lambda event
	eventBytes   = 6 << 20 // the largest event that Lambda takes
	pageRecords  = 1000    // the most records of a GetRecords answer
	pageBytes    = 1 << 20 // the most bytes of a GetRecords answer
)

// shape is a kind of record. The rows are measured with shapes.
type shape struct {
	name string
	note string
	of   func(i int) savedRecord // returns the record at a place of the stream, which has no end
	n    int                     // number of different records. 0: all differ
}

// shapes returns all shapes, in the order of the table. The usual shape carries the budgets.
func shapes() ([]*shape, error) {
	shop, err := shopShape()
	if err != nil {
		return nil, err
	}
	return []*shape{usual(), small(), large(), wide(), shop}, nil
}

// small returns new items of two attributes. Most of such a record is what DynamoDB writes around the item.
func small() *shape {
	return &shape{name: "small", note: "a new item of two attributes", of: func(i int) savedRecord {
		key := fmt.Sprintf(`"PK":{"S":"%d"}`, i%1000)
		return savedRecord{Event: "INSERT", Keys: "{" + key + "}", ID: fmt.Sprintf("%06x", i), New: `{` + key + `,"Status":{"S":"completed"}}`}
	}}
}

// large returns changes of nested items. A record with both images has 100 KB.
func large() *shape {
	return &shape{name: "large", note: "nested eight levels deep, both images, two values changed", n: 16, of: func(i int) savedRecord {
		key := fmt.Sprintf(`"PK":{"S":"CART#%06d"}`, i)
		image := func(status string, quantity int) string {
			rng := rand.New(rand.NewPCG(2, uint64(i)))
			var b strings.Builder
			fmt.Fprintf(&b, `{%s,"Type":{"S":"Cart"},"Status":{"S":"%s"},"Quantity":{"N":"%d"},"Lines":{"L":[`, key, status, quantity)
			for line := 0; b.Len() < 49_000; line++ {
				if line > 0 {
					b.WriteByte(',')
				}
				fmt.Fprintf(&b, `{"M":{"sku":{"S":"SKU-%05d"},"price":{"N":"%d.%02d"},"gift":{"BOOL":%t},"label":{"S":"say \"hello\" to\nZürich %d"},"picture":{"B":"iVBORw0KGgo%08dEUgAAAAEAAAABCAYAAAAfFcSJ"}`,
					rng.IntN(100_000), 1+rng.IntN(90), rng.IntN(100), rng.IntN(2) == 0, rng.IntN(1000), rng.IntN(100_000_000))
				fmt.Fprintf(&b, `,"options":{"M":{"colours":{"SS":["red","green","blue-%d"]},"sizes":{"NS":["36","38.5","%d"]},"parts":{"L":[{"M":{"name":{"S":"lid"},"material":{"L":[{"S":"oak"},{"M":{"from":{"S":"%s"},"year":{"N":"%d"}}}]}}},{"M":{"name":{"S":"box"},"material":{"L":[{"NULL":true}]}}}]}}}}}`,
					rng.IntN(50), 40+rng.IntN(8), cities[rng.IntN(len(cities))], 1990+rng.IntN(30))
			}
			b.WriteString(`]}}`)
			return b.String()
		}
		return savedRecord{Event: "MODIFY", Keys: "{" + key + "}", Old: image("paid", 1), New: image("completed", 2)}
	}}
}

// wide returns changes of items of 400 attributes.
func wide() *shape {
	return &shape{name: "400 attributes", note: "flat, both images, one attribute changed", of: func(i int) savedRecord {
		key := fmt.Sprintf(`"PK":{"S":"ROW#%06d"}`, i)
		image := func(status string) string {
			var b strings.Builder
			fmt.Fprintf(&b, `{%s,"Status":{"S":"%s"}`, key, status)
			for a := 2; a < 400; a++ {
				switch a % 4 {
				case 0:
					fmt.Fprintf(&b, `,"count%03d":{"N":"%d"}`, a, a*i)
				case 1:
					fmt.Fprintf(&b, `,"flag%03d":{"BOOL":%t}`, a, a%8 == 1)
				default:
					fmt.Fprintf(&b, `,"text%03d":{"S":"value %d of %d"}`, a, a, i)
				}
			}
			b.WriteByte('}')
			return b.String()
		}
		return savedRecord{Event: "MODIFY", Keys: "{" + key + "}", Old: image("paid"), New: image("completed")}
	}, n: 64}
}

// shopShape returns the stream of the shop that the README replays. The stream repeats without end.
func shopShape() (*shape, error) {
	const file = "../fixtures/shop/stream.jsonl"
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: run it by `go -C test/bench run .`", err)
	}
	s, err := parseInput(file, b)
	if err != nil {
		return nil, err
	}
	s.name, s.note = "shop", "the stream of test/fixtures/shop: inserts, changes, deletes of five kinds of item"
	return s, nil
}

// at returns the record at a place. Shapes that take long to write repeat.
func (s *shape) at(i int) savedRecord {
	if s.n > 0 {
		i %= s.n
	}
	return s.of(i)
}

// expiring returns the shape with a TTL delete in place of every tenth record, so that a filter of TTL deletes has
// work.
func (s *shape) expiring() *shape {
	out := *s
	out.of = func(i int) savedRecord {
		r := s.at(i)
		if i%10 == 9 {
			r = r.ttlDelete()
		}
		return r
	}
	out.n = 0
	return &out
}

// event returns a Lambda event with the records from place i on, and their number.
func (s *shape) event(i int) ([]byte, int) {
	return s.fill(`{"Records":[`, `]}`, i, eventRecords, eventBytes, savedRecord.appendLambda)
}

// page returns a GetRecords answer with the records from place i on, and their number.
func (s *shape) page(i int) ([]byte, int) {
	return s.fill(`{"NextShardIterator":"`+streamARN+`|1|next","Records":[`, `]}`, i, pageRecords, pageBytes, savedRecord.appendStreams)
}

func (s *shape) fill(head, tail string, i, most, bytes int, write func(savedRecord, *strings.Builder, int)) ([]byte, int) {
	var b strings.Builder
	b.WriteString(head)
	n := 0
	for ; n < most; n++ {
		var one strings.Builder
		write(s.at(i+n), &one, i+n)
		if n > 0 {
			if b.Len()+one.Len()+len(tail) >= bytes {
				break
			}
			b.WriteByte(',')
		}
		b.WriteString(one.String())
	}
	b.WriteString(tail)
	return []byte(b.String()), n
}

// events returns at most most Lambda events. It returns fewer if the shape has only a few different records and these
// are all in the events.
func (s *shape) events(most int) (payloads [][]byte, records int) {
	return s.gather(most, s.event)
}

// pages returns GetRecords answers in the same way.
func (s *shape) pages(most int) (answers [][]byte, records int) {
	return s.gather(most, s.page)
}

// gather calls next for each text, with the place after the texts before.
func (s *shape) gather(most int, next func(i int) ([]byte, int)) (texts [][]byte, records int) {
	for len(texts) < most {
		hasAll := len(texts) > 0 && s.n > 0 && records >= s.n
		if hasAll {
			break
		}
		b, n := next(records)
		texts, records = append(texts, b), records+n
	}
	return texts, records
}

// sizes returns the sizes of the measured records.
func sizes(b *bench) ([]size, error) {
	all, err := shapes()
	if err != nil {
		return nil, err
	}
	if b.input != nil {
		all = append([]*shape{b.input}, all...)
	}
	var out []size
	for _, s := range all {
		answers, records := s.pages(4)
		events, lambda := s.events(10)
		out = append(out, size{s.name, len(bytes.Join(answers, nil)) / records, len(bytes.Join(events, nil)) / lambda, s.note})
	}
	return out, nil
}
