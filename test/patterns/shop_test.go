package patterns

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// row is an item of the table: texts, numbers as json.Number, and lines.
type row map[string]any

func (r row) text(name string) string { return fmt.Sprint(r[name]) }

// of reports whether the item's partition key and sort key begin with pk and sk.
func (r row) of(pk, sk string) bool {
	return strings.HasPrefix(r.text("PK"), pk) && strings.HasPrefix(r.text("SK"), sk)
}

// dynamoJSON returns the item in DynamoDB JSON.
func (r row) dynamoJSON() json.RawMessage {
	m := make(map[string]any, len(r))
	for name, v := range r {
		m[name] = dynamoValue(v)
	}
	b, _ := json.Marshal(m)
	return b
}

// lines maps each product of an order to its quantity.
type lines map[string]int

func dynamoValue(v any) map[string]any {
	switch v := v.(type) {
	case json.Number:
		return map[string]any{"N": v.String()}
	case lines:
		list := []any{}
		for _, sku := range slices.Sorted(maps.Keys(v)) {
			list = append(list, map[string]any{"M": row{"sku": sku, "qty": json.Number(strconv.Itoa(v[sku]))}.dynamoJSON()})
		}
		return map[string]any{"L": list}
	}
	return map[string]any{"S": v}
}

// shop writes items of all kinds and keeps the records of its stream.
type shop struct {
	*rand.Rand
	items   map[string]row // by PK and SK
	records []string
	deleted map[string]row // the last image of each deleted order, by the path of its object
	gone    map[string]row // the same for deleted items that are not orders
	events  []string       // the expected content of confirmations
}

func newShop(seed uint64) *shop {
	return &shop{Rand: rand.New(rand.NewPCG(seed, 0)), items: make(map[string]row), deleted: make(map[string]row), gone: make(map[string]row)}
}

func one[T any](s *shop, from ...T) T { return from[s.IntN(len(from))] }

// write changes an item, or removes it if the new one is nil.
func (s *shop) write(is row, pk, sk string, expires bool) {
	key := pk + " " + sk
	was := s.items[key]
	if was == nil && is == nil {
		return
	}
	change := map[string]any{
		"SequenceNumber":              fmt.Sprintf("1%020d", len(s.records)+1),
		"ApproximateCreationDateTime": 1_767_000_000 + len(s.records)/10,
		"Keys":                        row{"PK": pk, "SK": sk}.dynamoJSON(),
		"StreamViewType":              "NEW_AND_OLD_IMAGES",
	}
	op := "MODIFY"
	if was == nil {
		op = "INSERT"
	} else {
		change["OldImage"] = was.dynamoJSON()
	}
	if is == nil {
		op = "REMOVE"
		delete(s.items, key)
	} else {
		is["PK"], is["SK"] = pk, sk
		change["NewImage"] = is.dynamoJSON()
		s.items[key] = is
	}
	const stream = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-01T00:00:00.000"
	id := strconv.Itoa(len(s.records))
	record := map[string]any{"eventID": id, "eventName": op, "eventSourceARN": stream, "dynamodb": change}
	if expires && op == "REMOVE" {
		record["userIdentity"] = map[string]string{"type": "Service", "principalId": "dynamodb.amazonaws.com"}
	}
	b, _ := json.Marshal(record)
	s.records = append(s.records, string(b))
	switch {
	case strings.HasPrefix(sk, "ORDER#"):
		s.noteOrder(op, was, is)
	case op == "REMOVE":
		s.gone["archive/_none/"+pk+"/"+sk+".json"] = was
	}
}

// noteOrder keeps what an archive and a confirmation must have after the change of an order.
func (s *shop) noteOrder(op string, was, is row) {
	id := func(r row) string { return strings.Split(r.text("SK"), "#")[2] }
	event := func(name string, r row) {
		user := strings.TrimPrefix(r.text("PK"), "USER#")
		s.events = append(s.events, fmt.Sprintf("%s %s of %s: %s", name, id(r), user, r.text("Total")))
	}
	switch {
	case op == "REMOVE":
		s.deleted["archive/Order/"+was.text("PK")+"/"+was.text("SK")+".json"] = was
	case op == "INSERT":
		event("placed", is)
		event("moved", is)
	case was["Status"] != is["Status"]:
		event("moved", is)
	}
}

// step makes one change of an item of any kind.
func (s *shop) step() {
	n := func(of int) string { return strconv.Itoa(s.IntN(of)) }
	isRemoval := s.IntN(5) == 0
	item := func(r row) row {
		if isRemoval {
			return nil
		}
		return r
	}
	switch s.IntN(8) {
	case 0:
		name := one(s, "ann", "Bo", "cy", "Dee") + n(3)
		email := name + one(s, "@Example.com", "@example.com")
		s.write(item(row{"Email": email, "Name": name}), "USER#"+n(12), "PROFILE", false)
	case 1:
		place := row{"Country": one(s, "DE", "FR"), "Region": one(s, "North", "South"), "City": one(s, "A", "B", "C")}
		place["Name"] = "store " + n(99)
		s.write(item(place), "STORE#"+n(20), "META", false)
	case 2:
		s.write(item(row{"Role": one(s, "owner", "reader")}), "GROUP#"+n(5), "MEMBER#"+n(12), false)
	default:
		s.order(item)
	}
}

// order changes an order. The number of the order determines its user and its day.
func (s *shop) order(item func(row) row) {
	number := s.IntN(40)
	day := 26 + number%6 // around the 29th, the night in which clocks go forward
	date := fmt.Sprintf("2026-03-%02d", day)
	createdAt := fmt.Sprintf("%sT%02d:%02d:%02d", date, s.IntN(24), s.IntN(60), s.IntN(60))
	createdAt += one(s, "Z", ".5Z", "+02:00", "-11:30")
	total := one(s, "19.99", "100", "0.005", "7", "-3.5", "99999999999999999999.01", strconv.Itoa(s.IntN(1000)))
	items := make(lines)
	for range s.IntN(4) {
		items["p"+strconv.Itoa(s.IntN(5))] = 1 + s.IntN(9)
	}
	s.write(item(row{"Status": one(s, "pending", "paid", "completed"), "Total": json.Number(total), "CreatedAt": createdAt, "Items": items}),
		"USER#"+strconv.Itoa(number%7), fmt.Sprintf("ORDER#%s#o%02d", date, number), s.IntN(2) == 0)
}
