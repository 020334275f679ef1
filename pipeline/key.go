package pipeline

// Key is the canonical key of an item: its key attributes in the order of their
// names, joined by ','. S is percent-encoded (all bytes but A-Z a-z 0-9 _ . -),
// N is '+' and the canonical decimal, B is '=' and base64url without padding.
// Where a pipeline reads several tables it is prefixed by the table's name
// (percent-encoded) and '!'. Injective, and decodable by [Key.Decode]. Lanes,
// document ids, templates, event ids and archive names use nothing else.
type Key string

// MakeKey builds the canonical key of the key attributes in keys.
func MakeKey(table string, keys Image) (Key, error) { panic("decode") } // table may be ""

// Decode takes the key apart: the table ("" where not prefixed) and the values
// in the order of their names.
func (k Key) Decode() (table string, values []Value, err error) { panic("decode") }
