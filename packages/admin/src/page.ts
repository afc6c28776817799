const STYLE = `:root{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif}body{max-width:64rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #8884}
td.n,th.n{text-align:right}.soft{opacity:.7}code{font-size:.95em}`

// Keys are shown by textContent only: they are untrusted. No address may have the user and password that the page's has. A
// list that arrives after a later one was asked for is not shown.
const SCRIPT = `const $=(id)=>document.getElementById(id)
const ask=async(query,init)=>{const r=await fetch(location.origin+location.pathname+query,init);const data=await r.json();if(!r.ok)throw new Error(data.error);return data}
const cell=(row,text,n)=>{const td=row.insertCell();td.textContent=text;if(n)td.className='n';return td}
let token,asked=0
const can=new Map(),left=(ms)=>ms===null?'unknown':ms===0?'':ms<60000?Math.ceil(ms/1000)+' s':Math.ceil(ms/60000)+' min'
const say=(text)=>{$('message').textContent=text}
async function state(){const s=await ask('?api=state');token=s.token;$('policies').replaceChildren()
for(const p of s.policies){can.set(p.name,p.canBlock);const row=$('policies').insertRow();cell(row,p.name);cell(row,String(p.quota.limit),1);cell(row,String(p.quota.window/1e6)+' s',1)
cell(row,String((Object.hasOwn(s.denials,p.name)?s.denials[p.name]:[]).reduce((a,b)=>a+b,0)),1);if(![...$('policy').options].some((o)=>o.value===p.name))$('policy').add(new Option(p.name,p.name))}
$('shed').hidden=!s.inFlight.length;$('flight').replaceChildren()
for(const f of s.inFlight){const row=$('flight').insertRow();cell(row,f.name);cell(row,f.limit+(f.dropped?'':' a key'),1);cell(row,f.inFlight,1);cell(row,f.queued??'',1)
cell(row,Object.entries(f.dropped??{}).flatMap(([why,n])=>n?n+' '+why:[]).join(', '))}}
async function keys(){const turn=++asked,q=new URLSearchParams({api:'keys',policy:$('policy').value});for(const only of ['limited','blocked'])if($(only).checked)q.set(only,'true')
const list=await ask('?'+q);if(turn!==asked)return;$('keys').replaceChildren();$('scanned').textContent=list.scanned+' examined'+(list.isComplete?'':', not all')
for(const k of list.keys){const row=$('keys').insertRow();cell(row,k.key);cell(row,String(k.limit-k.remaining),1);cell(row,String(k.limit),1)
cell(row,left(k.blockedMs),1)
const td=cell(row,''),button=(text,act)=>{const b=document.createElement('button');b.textContent=text;b.addEventListener('click',act);td.append(b)}
if(k.ref){button('Reset',()=>change('reset','Reset',k));if(can.get($('policy').value)){button('Block',()=>block(k));if(k.blockedMs)button('Unblock',()=>change('unblock','Unblock',k))}}}}
async function send(api,k,more,done){try{await ask('?api='+api,{method:'POST',headers:{'content-type':'application/json','x-spillway-token':token},body:JSON.stringify({ref:k.ref,confirm:true,...more})});await load();say(done+' '+k.key+'.')}catch(e){say(e.message)}}
async function change(api,verb,k){if(confirm(verb+' '+k.key+'?'))await send(api,k,{},verb)}
async function block(k){const duration=prompt('Block '+k.key+' for how long? For example 15m, 2h or 7d.');if(duration)await send('block',k,{duration},'Block')}
async function load(){try{await state();await keys();say('')}catch(e){say(e.message)}}
for(const id of ['policy','limited','blocked'])$(id).addEventListener('change',load);$('again').addEventListener('click',load);load()`

/** The page: one file without other assets. Its script and style have this nonce. */
export const pageOf = (nonce: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Rate limits</title><style nonce="${nonce}">${STYLE}</style></head>
<body><main><h1>Rate limits</h1><p id="message" role="status"></p>
<h2>Policies</h2><table><thead><tr><th>policy</th><th class="n">limit</th><th class="n">window</th><th class="n">denied in the last hour</th></tr></thead><tbody id="policies"></tbody></table>
<div id="shed" hidden><h2>In flight here</h2><table><thead><tr><th>policy or shedder</th><th class="n">limit</th><th class="n">in flight</th><th class="n">queued</th><th>dropped</th></tr></thead><tbody id="flight"></tbody></table></div>
<h2>Top keys</h2><p><label>Policy <select id="policy"></select></label> <label><input type="checkbox" id="limited"> limited only</label> <label><input type="checkbox" id="blocked"> blocked only</label> <button id="again">Refresh</button> <span id="scanned" class="soft"></span></p>
<table><thead><tr><th>key</th><th class="n">used</th><th class="n">of</th><th class="n">blocked for</th><th></th></tr></thead><tbody id="keys"></tbody></table>
</main><script nonce="${nonce}">${SCRIPT}</script></body></html>
`

/** The headers of the page: nothing but its own script and style, and requests to where it comes from. */
export const pageHeaders = (nonce: string): Record<string, string> => ({
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`,
})
