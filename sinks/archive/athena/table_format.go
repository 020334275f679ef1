package athena

import (
	"fmt"
	"strings"

	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/archive/internal/columnar"
)

// column is a column of the table or of a view.
type column struct{ name, hiveType string }

// columns returns the columns of the objects, without the columns of their folders.
func (t *table) columns() []column {
	switch {
	case t.Format == archive.Parquet:
		var cs []column
		for f := range columnar.Field(columnar.Fields) {
			cs = append(cs, column{f.Name(), f.HiveType()})
		}
		for _, c := range t.Columns {
			cs = append(cs, column{c.Name, "string"})
		}
		return cs
	case t.Images == archive.PlainJSON:
		return plainLine
	}
	return recordLine
}

// plainLine has the members of a line of plain JSON.
var plainLine = []column{
	{"key", "string"}, {"version", "string"}, {"op", "string"}, {"kind", "string"}, {"time", "string"},
	{"sequence", "string"},
	{"event_id", "string"}, {"stream_arn", "string"}, {"table", "string"},
	{"identity", "struct<type:string,principal_id:string>"}, {"keys", "string"}, {"old", "string"}, {"new", "string"},
}

// recordLine has the members of a stream record. The identity has two spellings: Lambda's and that of the Streams API.
var recordLine = []column{
	{"eventid", "string"}, {"eventname", "string"}, {"awsregion", "string"}, {"eventsourcearn", "string"},
	{"tablename", "string"},
	{"useridentity", "struct<type:string,principalid:string,typeapi:string,principalidapi:string>"},
	{"dynamodb",
		"struct<approximatecreationdatetime:string,keys:string,newimage:string,oldimage:string,sequencenumber:string,sizebytes:string,streamviewtype:string>"},
}

// memberNames maps a column to its member in the JSON, if the member is spelled differently.
var memberNames = []property{
	{"eventid", "eventID"}, {"eventname", "eventName"}, {"awsregion", "awsRegion"}, {"eventsourcearn", "eventSourceARN"},
	{"tablename", "tableName"},
	{"useridentity", "userIdentity"}, {"principalid", "principalId"}, {"typeapi", "Type"},
	{"principalidapi", "PrincipalId"},
	{"approximatecreationdatetime", "ApproximateCreationDateTime"}, {"keys", "Keys"}, {"newimage", "NewImage"},
	{"oldimage", "OldImage"},
	{"sequencenumber", "SequenceNumber"}, {"sizebytes", "SizeBytes"}, {"streamviewtype", "StreamViewType"},
}

// writeFormat writes the clauses of the statement that describe the format of the objects.
func (t *table) writeFormat(b *strings.Builder) {
	if t.StorageClass == "GLACIER" || t.StorageClass == "DEEP_ARCHIVE" {
		t.addNote("Athena does not read objects of the storage class %s: restore them, and say 'read_restored_glacier_objects' = 'true' in TBLPROPERTIES.", t.StorageClass)
	}
	if t.Format == archive.Parquet {
		b.WriteString("STORED AS PARQUET\n")
		return
	}
	if t.Format == archive.JSONLZstd {
		t.addNote("Text compressed by zstd needs version 3 of Athena's engine.")
	}
	properties := []property{{"case.insensitive", "false"}} // attribute names are case-sensitive
	if t.Images != archive.PlainJSON {
		for _, name := range memberNames {
			properties = append(properties, property{"mapping." + name.key, name.value})
		}
	}
	fmt.Fprintf(b, "ROW FORMAT SERDE 'org.openx.data.jsonserde.JsonSerDe'\nWITH SERDEPROPERTIES (\n%s\n)\n",
		joinProperties(properties))
}
