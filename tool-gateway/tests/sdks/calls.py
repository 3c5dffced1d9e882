"""Tool calls through the gateway with OpenAI's SDK. Prints the arguments of the calls that the client got, as JSON lines.

Arguments: the base URL; `create` or `stream`.
"""

import json
import sys

import openai

base_url, way = sys.argv[1:]
client = openai.OpenAI(base_url=f"{base_url}/v1", api_key="demo", max_retries=0)
messages = [{"role": "user", "content": "Write down what is to be done."}]

if way == "create":
    completion = client.chat.completions.create(model="m", messages=messages)
    response = client.responses.create(model="m", input="?")
else:
    with client.chat.completions.stream(model="m", messages=messages) as stream:
        completion = stream.get_final_completion()
    events = client.responses.create(model="m", input="?", stream=True)
    [response] = [event.response for event in events if event.type == "response.completed"]

calls = [call.function for call in completion.choices[0].message.tool_calls]
calls += [item for item in response.output if item.type == "function_call"]
for call in calls:
    print(json.dumps([call.name, json.loads(call.arguments)]))
