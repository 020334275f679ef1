package pipeline_test

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline"
)

func ExampleMask() {
	email, _ := pipeline.ParsePattern("Email")
	address, _ := pipeline.ParsePattern("Address.**")
	city, _ := pipeline.ParsePattern("Address.City")
	mask, err := pipeline.NewMask([]pipeline.Pattern{email, address}, []byte("keep it secret"))
	if err != nil {
		fmt.Println(err)
		return
	}
	user, err := pipeline.ParseImage([]byte(`{"PK":{"S":"USER#1"},"Email":{"S":"ada@example.com"},"Address":{"M":{"City":{"S":"Berlin"},"Street":{"S":"Unter den Linden 1"}}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", mask.Image(user).AppendJSON(nil))
	fmt.Printf("%s\n", mask.Except([]pipeline.Pattern{city}).Without(user).AppendJSON(nil))
	// Output:
	// {"PK":"USER#1","Email":"masked-00bb23684797","Address":"masked-c1d31ce16bc2"}
	// {"PK":"USER#1","Address":{"City":"Berlin"}}
}
