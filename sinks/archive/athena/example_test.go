package athena_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/tablewake/tablewake/pipeline/template"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/archive/athena"
)

// An archive with one folder per day becomes a table with one partition per day, and two views of the table.
func ExampleStatements() {
	day, err := template.Parse("dt={@time|date:2006-01-02}", template.Options{})
	if err != nil {
		log.Fatal(err)
	}
	statements, err := athena.Statements(athena.Archive{
		Sink: "history", Location: "s3://shop-archive/changes/", Options: archive.Options{Format: archive.Parquet, Partition: day},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range statements {
		fmt.Println(s.Name)
	}
	_, layout, _ := strings.Cut(statements[0].SQL, "\n)\n") // without the columns
	fmt.Println(layout)
	// Output:
	// `history`
	// "history__once"
	// "history__current"
	// PARTITIONED BY (`dt` string)
	// STORED AS PARQUET
	// LOCATION 's3://shop-archive/changes/'
	// TBLPROPERTIES (
	//   'projection.enabled' = 'true',
	//   'projection.dt.type' = 'date',
	//   'projection.dt.format' = 'yyyy-MM-dd',
	//   'projection.dt.range' = '2020-01-01,NOW+1DAYS',
	//   'projection.dt.interval' = '1',
	//   'projection.dt.interval.unit' = 'DAYS',
	//   'storage.location.template' = 's3://shop-archive/changes/dt=${dt}/'
	// )
}
