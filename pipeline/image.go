package pipeline

import "iter"

// Image is an item as one record shows it. The zero Image means that the record
// has none (Exists is false); an image without attributes exists and is empty.
type Image struct {
	doc []byte
}

func (m Image) Exists() bool                         { panic("decode") }
func (m Image) Len() int                             { panic("decode") }
func (m Image) Get(name string) (Value, bool)        { panic("decode") }
func (m Image) Lookup(path string) (Value, bool)     { panic("decode") } // Address.Lines[0]["a-b"]; false when absent or when the path is unsound
func (m Image) At(p Path) (Value, bool)              { panic("decode") }
func (m Image) All() iter.Seq2[string, Value]        { panic("decode") }
func (m Image) Equal(n Image) bool                   { panic("decode") }
func (m Image) Clone() Image                         { panic("decode") }
func (m Image) Value() Value                         { panic("decode") } // the image as an M
func (m Image) AppendDynamoDBJSON(dst []byte) []byte { panic("decode") } // {"a":{"S":"x"}}
func (m Image) AppendJSON(dst []byte) []byte         { panic("decode") }

// ParseImage reads an item in DynamoDB JSON: {"PK":{"S":"x"},...}. It takes b over.
func ParseImage(b []byte) (Image, error) { panic("decode") }

// ImageOf is the image of an M value; false for any other kind.
func ImageOf(v Value) (Image, bool) { panic("decode") }
