// Package cupule assembles an application from a configuration file: an MCP client, a
// registry of operations, and a JSON-RPC 2.0 server for them.
//
//	app, err := cupule.Open(ctx, "app.yaml", &cupule.Options{
//		Operations: func(client *mcpclient.Client) ([]registry.Operation, error) {
//			return []registry.Operation{
//				registry.Typed(registry.Operation{Name: "text.count"}, count),
//			}, nil
//		},
//	})
//	if err != nil {
//		log.Fatal(err) // every problem, each with its position
//	}
//	defer app.Close()
//	err = app.Serve(ctx) // until ctx ends; then running calls finish within a grace
//
// The package assembles and holds no rule of its own. What may be called, and by whom, is
// decided in package effects; each layer below is usable without this one:
//
//   - effects: what a call may do
//   - registry: what can be called
//   - config: the file
//   - mcpclient: MCP servers, outbound
//   - jsonrpcserver: JSON-RPC, inbound
//
// [Open] starts no server and dials nothing, so one broken MCP server keeps neither the
// others nor the service from starting. [App.Reload] builds everything anew, swaps it in
// at once, lets running calls finish under the old rules, and changes nothing where the
// new file has a problem. An [App] is safe for concurrent use.
package cupule
