package retryconfig

// Reader reads the settings of one product.
type Reader struct {
	Name    string    // short name, such as "istio"
	Title   string    // product and objects, in words
	Objects []string  // kinds of object or file that it recognises
	Samples []Reading // examples for the table of readings, one for each count setting

	refusal string // what a value that cannot be read takes down beyond its own object, "" for nothing

	claims func(d *doc) bool           // whether it reads this document
	whole  func(in *input) bool        // whether it reads the file as a whole (text and flat formats)
	read   func(in *input, own []*doc) // reads the claimed documents
}

// Reading is a small file with one number left open, from which the table "what does
// 3 mean here?" is made. In Text, the line with @N@ holds the number; without the
// number that line is taken out.
type Reading struct {
	Setting string // the key, as people write it
	Counts  string // "after the first" or "all"
	Name    string // file name to parse under
	Text    string
}

// readers are all readers, in the order of the table of readings.
var readers = []*Reader{istioReader, envoyReader, grpcReader, gwapiReader, btpReader, linkerdReader, nginxReader, ingressNginxReader, kongReader, traefikReader, haproxyReader, caddyReader, apisixReader,
	resilience4jReader, springGatewayReader, springMessagingReader, kafkaReader, microprofileReader, dotnetReader,
	awsConfigReader, cloudformationReader, aslReader,
	contourReader, kumaReader, consulReader, emissaryReader, glooReader, daprReader, jobReader, argoReader, tektonReader, gitlabReader, githubReader,
	rabbitReader, natsReader, azureReader, knativeReader, statementReader, planReader}

// Readers lists all readers.
func Readers() []*Reader { return readers }
