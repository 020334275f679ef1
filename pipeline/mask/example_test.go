package mask_test

import (
	"fmt"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/mask"
)

func ExampleMask() {
	email, _ := item.ParsePattern("Email")
	address, _ := item.ParsePattern("Address.**")
	city, _ := item.ParsePattern("Address.City")
	mask, err := mask.New([]item.Pattern{email, address}, []byte("keep it secret"))
	if err != nil {
		fmt.Println(err)
		return
	}
	user, err := item.Parse([]byte(`{"PK":{"S":"USER#1"},"Email":{"S":"ada@example.com"},"Address":{"M":{"City":{"S":"Berlin"},"Street":{"S":"Unter den Linden 1"}}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", mask.Image(user).AppendJSON(nil))
	fmt.Printf("%s\n", mask.Except([]item.Pattern{city}).Without(user).AppendJSON(nil))
	// Output:
	// {"PK":"USER#1","Email":"masked-00bb23684797","Address":"masked-c1d31ce16bc2"}
	// {"PK":"USER#1","Address":{"City":"Berlin"}}
}
