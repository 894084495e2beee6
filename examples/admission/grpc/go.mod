module github.com/relplan/relplan/examples/admission/grpc

go 1.26.0

require (
	github.com/relplan/relplan v0.0.0
	google.golang.org/grpc v1.85.0
)

require (
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	golang.org/x/tools v0.52.0 // indirect
	gonum.org/v1/gonum v0.17.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace github.com/relplan/relplan => ../../..
