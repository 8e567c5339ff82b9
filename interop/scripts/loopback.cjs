// Loaded before a server that listens on every address: it gets a free port on loopback
// alone, which it says on standard error.
const net = require('node:net');
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (_port, ready) {
  return listen.call(this, 0, '127.0.0.1', () => {
    console.error(`listening on 127.0.0.1:${this.address().port}`);
    ready?.();
  });
};
