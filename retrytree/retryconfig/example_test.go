package retryconfig_test

import (
	"fmt"

	"github.com/relplan/relplan/retrytree/retryconfig"
)

func ExampleParse() {
	f := retryconfig.Parse("vs.yaml", []byte(`apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: ratings, namespace: shop}
spec:
  http:
  - timeout: 10s
    retries: {attempts: 3, perTryTimeout: 2s, retryOn: "gateway-error,connect-failure"}
    route: [{destination: {host: ratings}}]
`))
	for _, h := range f.Hops {
		fmt.Println(h.Name, h.AttemptsText(), "attempts, at worst", *h.Worst)
	}
	// Output: shop/ratings#0 4 attempts, at worst 8.175s
}
