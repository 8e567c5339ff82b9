// Prints the meta-schema of OpenRPC documents, and that of JSON Schema which it refers to.
const openrpc = require('@open-rpc/meta-schema').default;
const jsonSchema = require('@json-schema-tools/meta-schema').default;
console.log(JSON.stringify({ step: 'openrpc', value: openrpc }));
console.log(JSON.stringify({ step: 'json schema', value: jsonSchema }));
